//! What the program is made of: the packages, the code of other languages inside them, and what is known against them.

pub(crate) mod audit;
pub(crate) mod graph;
pub(crate) mod inside;
pub(crate) mod licence;
pub(crate) mod notices;
pub(crate) mod sbom;
