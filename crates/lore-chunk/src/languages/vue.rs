//! Vue components: the script is cut as JavaScript or TypeScript, the template and the styles into runs of lines.
//!
//! The blocks of a component begin and end at the start of a line, in everything that a formatter has seen. A file that
//! is written otherwise is cut into lines as a whole.

use std::ops::Range;

use lore_model::ChunkKind;

use crate::{
    Chunker, Language,
    engine::{Outline, Source, cut_lines},
    language::{Method, Row},
};

pub(crate) static ROW: Row = Row { name: "vue", extensions: &["vue"], method: Method::Own(outline), ..Row::LINES };

/// A component has two scripts at most. For each the whole file is looked at, so further ones are cut into lines.
const MOST_SCRIPTS: usize = 8;

fn outline(chunker: &mut Chunker, source: &Source<'_>) -> Option<Outline> {
    let mut whole = Outline::default();
    let mut at = 0;
    for (language, script) in scripts(source).into_iter().take(MOST_SCRIPTS) {
        let Some(cut) = chunker.tree(language, source, script.clone()) else { continue };
        whole.drafts.extend(cut_lines(source.bytes, at..script.start, ChunkKind::Definitions));
        whole.drafts.extend(cut.drafts);
        whole.symbols.extend(cut.symbols);
        whole.names.extend(cut.names);
        whole.prose.extend(cut.prose);
        whole.imports += cut.imports;
        at = script.end;
    }
    whole.drafts.extend(cut_lines(source.bytes, at..source.bytes.len(), ChunkKind::Definitions));
    (at > 0).then_some(whole)
}

/// The lines between `<script …>` and `</script>`, with their language.
fn scripts(source: &Source<'_>) -> Vec<(Language, Range<usize>)> {
    let mut scripts = Vec::new();
    let mut open: Option<(Language, usize)> = None;
    for number in 0..source.line_count() {
        let line = source.line(number);
        if line.starts_with(b"<script") && line.ends_with(b">") && !line.ends_with(b"</script>") {
            open = Some((language(line), source.line_start(number + 1)));
        } else if line.starts_with(b"</script")
            && let Some((language, start)) = open.take()
        {
            let end = source.line_start(number);
            if end > start {
                scripts.push((language, start..end));
            }
        }
    }
    scripts
}

fn language(tag: &[u8]) -> Language {
    let says = |name: &str| memchr::memmem::find(tag, name.as_bytes()).is_some();
    if says("\"tsx\"") || says("'tsx'") {
        Language(&super::tsx::ROW)
    } else if says("\"ts\"") || says("'ts'") {
        Language(&super::typescript::ROW)
    } else {
        Language(&super::javascript::ROW)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn the_script_is_cut_by_its_own_language() {
        let text = "<template>\n  <p>{{ x }}</p>\n</template>\n\n<script setup lang=\"ts\">\nimport { ref } from 'vue'\n\n\
                    interface Props {\n  // Its name.\n  name: string\n}\n\nconst x = ref(0)\n\nfunction add(by: number): void {\n  x.value += by\n  emit('x')\n}\n</script>\n\n\
                    <style scoped>\np { color: #fff }\n</style>\n";
        check("vue", text, &expect![[r#"
            definitions 1-6
            definitions 7-11 interface `Props` names Props name prose // Its name.
            data 12-13 variable `x`
            definitions 14-23 function `add`
              8-11 interface `Props`: interface Props
              13-13 variable `x`: const x = ref(0)
              15-18 function `add`: function add(by: number): void
            imports 1
        "#]]);
        check("vue", "<template><p/></template>\n", &expect![[r#"
            definitions 1-1
        "#]]);
    }

    /// So many that whoever runs this notices work that grows with the square of it.
    #[test]
    fn scripts_without_end_are_lines() {
        let text = "<script>\nfunction a() {\n  b()\n  // c\n}\n</script>\n".repeat(20_000);
        let file = crate::Chunker::new().chunk(crate::Language(&super::ROW), "test", text.as_bytes());
        crate::languages::testing::check_partition(text.as_bytes(), &file);
        assert_eq!(file.symbols.len(), super::MOST_SCRIPTS);
    }
}
