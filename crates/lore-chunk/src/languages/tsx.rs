//! TypeScript with JSX: the rules of TypeScript, and a grammar of its own.

use super::{javascript, typescript};
use crate::{
    engine::Spec,
    language::{Method, Row},
};

pub(crate) static ROW: Row = Row { name: "tsx", extensions: &["tsx"], method: Method::Tree(&SPEC), ..Row::LINES };

static SPEC: Spec = Spec {
    grammar: || tree_sitter_typescript::LANGUAGE_TSX.into(),
    rules: &[javascript::RULES, typescript::RULES],
    ..Spec::CODE
};

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn components_are_functions() {
        let text = "type Props = { name: string };\n\n// Shows it.\nexport const Hello: FC<Props> = ({ name }) => {\n  const onClick = () => {\n    go();\n  };\n  \
                    return <div onClick={onClick}>{name}</div>;\n};\n\nexport default function Page() {\n  return (\n    <Hello name=\"x\" />\n  );\n}\n";
        check("tsx", text, &expect![[r#"
            definitions 1-1 type `Props` names Props name
            definitions 2-9 function `Hello` names Hello onClick prose // Shows it.
            definitions 10-15 function `Page`
              1-1 type `Props`: type Props = { name: string };
              4-9 function `Hello`: export const Hello: FC<Props> = ({ name })
              5-7 function `onClick` in `Hello`: const onClick = ()
              11-15 function `Page`: export default function Page()
        "#]]);
    }
}
