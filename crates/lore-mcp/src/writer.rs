//! Writes answers, one a line. A single task owns the output, so that no line is ever torn or mixed with another.

use std::io;

use lore_tools::Receipt;
use memchr::memmem;
use serde::Serialize;
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::{OwnedSemaphorePermit, mpsc},
    task::{JoinHandle, JoinSet},
};

/// Lines that are written before the output is flushed.
const BATCH: usize = 64;

/// A line to write, with the slot of the request that it answers: free again when the line is out, and whoever wants to
/// know that knows.
pub(crate) struct Outgoing {
    pub(crate) line: Vec<u8>,
    pub(crate) slot: Option<OwnedSemaphorePermit>,
    pub(crate) receipt: Option<Receipt>,
}

/// Starts the task that writes. It ends when all senders are gone, or with the first error.
///
/// The queue has no limit of its own: the slots of the requests bound the answers in it, and notices are few.
pub(crate) fn start<W>(mut output: W) -> (mpsc::UnboundedSender<Outgoing>, JoinHandle<io::Result<()>>)
where
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (sender, mut queue) = mpsc::unbounded_channel::<Outgoing>();
    let task = tokio::spawn(async move {
        let mut batch = Vec::new();
        let mut told = JoinSet::new();
        while queue.recv_many(&mut batch, BATCH).await > 0 {
            for outgoing in &batch {
                output.write_all(&outgoing.line).await?;
            }
            output.flush().await?;
            while told.try_join_next().is_some() {}
            for outgoing in batch.drain(..) {
                let Outgoing { slot, receipt, .. } = outgoing;
                if let Some(receipt) = receipt {
                    // The next lines need not wait for that, but the end of the program does.
                    told.spawn_blocking(move || {
                        receipt.written();
                        drop(slot);
                    });
                }
            }
        }
        while told.join_next().await.is_some() {}
        output.shutdown().await
    });
    (sender, task)
}

/// A message as a line.
pub(crate) fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    // Legal in JSON, yet line ends to some readers of lines, Node's `readline` among them.
    for (separator, escaped) in [("\u{2028}", "\\u2028"), ("\u{2029}", "\\u2029")] {
        if memmem::find(&line, separator.as_bytes()).is_some() {
            line = replace(&line, separator.as_bytes(), escaped.as_bytes());
        }
    }
    line.push(b'\n');
    Ok(line)
}

fn replace(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(text.len() + to.len());
    let mut done = 0;
    for at in memmem::find_iter(text, from) {
        replaced.extend_from_slice(&text[done..at]);
        replaced.extend_from_slice(to);
        done = at + from.len();
    }
    replaced.extend_from_slice(&text[done..]);
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_one_line_to_every_reader() {
        let text = "a\u{2028}b\u{2029}c\nd\u{2028}";
        let line = encode(&text).unwrap();
        assert_eq!(line, b"\"a\\u2028b\\u2029c\\nd\\u2028\"\n");
        assert_eq!(serde_json::from_slice::<String>(&line).unwrap(), text);
    }
}
