//! The targets.

mod access_token;
mod addresses;
mod chunk_file;
mod chunker;
mod commitmux;
mod git_blame;
mod git_stream;
mod globs;
mod history_query;
mod http_request;
mod ignore_rules;
mod json_rpc;
mod message_file;
mod patch_hunks;
mod prompt;
mod regex_lines;
mod registry;
mod segment_file;
mod sse;
mod values;
mod wheel;
mod words;

/// One parser, or some that belong together.
pub struct Target {
    /// Its name: that of the program in `fuzz/targets` and of the folder in `fuzz/corpus`.
    pub name: &'static str,
    /// Tries these bytes; panics where something does not hold.
    pub run: fn(&[u8]),
    /// How many changed inputs the tests try: fewer where one takes long.
    pub tries: usize,
}

macro_rules! targets {
    ($($name:ident: $run:path, $tries:literal;)*) => {
        /// Every target, by name.
        pub const TARGETS: &[Target] = &[$(Target { name: stringify!($name), run: $run, tries: $tries }),*];
    };
}

targets! {
    access_token: access_token::run, 1000;
    addresses: addresses::run, 4000;
    chunk_file: chunk_file::run, 2000;
    chunker: chunker::run, 300;
    commitmux: commitmux::run, 300;
    git_blame: git_blame::run, 2000;
    git_stream: git_stream::run, 1000;
    globs: globs::run, 2000;
    history_query: history_query::run, 1000;
    http_request: http_request::run, 1000;
    ignore_rules: ignore_rules::run, 2000;
    json_rpc: json_rpc::run, 3000;
    message_file: message_file::run, 3000;
    patch_hunks: patch_hunks::run, 2000;
    prompt: prompt::run, 2000;
    regex_lines: regex_lines::run, 500;
    registry: registry::run, 2000;
    segment_file: segment_file::run, 500;
    sse: sse::run, 3000;
    values: values::run, 2000;
    wheel: wheel::run, 300;
    words: words::run, 500;
}
