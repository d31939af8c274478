//! Opens standard input and output, whatever they are, without blocking threads where that is possible.
//!
//! Hosts start servers with pipes (shells, Rust, Go) or sockets (Node, Python's asyncio); both are driven by the
//! runtime, which takes a third of the time of handing each message to a thread. Files, terminals and devices cannot
//! be, and go the slower way.

use tokio::io::{AsyncRead, AsyncWrite};

/// An input of any kind.
pub(crate) type Input = Box<dyn AsyncRead + Send + Unpin>;
/// An output of any kind.
pub(crate) type Output = Box<dyn AsyncWrite + Send + Unpin>;

#[cfg(not(unix))]
pub(crate) fn input() -> std::io::Result<Input> {
    Ok(Box::new(tokio::io::stdin()))
}

#[cfg(not(unix))]
pub(crate) fn output() -> std::io::Result<Output> {
    Ok(Box::new(tokio::io::stdout()))
}

#[cfg(unix)]
pub(crate) use unix::{input, output};

#[cfg(unix)]
mod unix {
    use std::{
        fs::File,
        io,
        os::{
            fd::{AsFd, AsRawFd, BorrowedFd},
            unix::{
                fs::{FileTypeExt, MetadataExt},
                net::UnixStream,
            },
        },
        pin::Pin,
        task::{Context, Poll},
    };

    use tokio::{
        io::{AsyncRead, AsyncWrite, ReadBuf},
        net::unix::pipe,
    };

    use super::{Input, Output};

    /// Standard input.
    pub(crate) fn input() -> io::Result<Input> {
        open_input(io::stdin().as_fd())
    }

    /// Standard output.
    pub(crate) fn output() -> io::Result<Output> {
        match open_output(io::stdout().as_fd())? {
            Some(output) => Ok(output),
            None => Ok(Box::new(tokio::io::stdout())),
        }
    }

    fn open_input(fd: BorrowedFd<'_>) -> io::Result<Input> {
        match Kind::of(fd)? {
            Kind::Pipe => match pipe::OpenOptions::new().open_receiver(own_path(fd)) {
                Ok(pipe) => Ok(Box::new(pipe)),
                Err(_) => read_in_thread(fd),
            },
            Kind::Socket => Ok(Box::new(Socket::new(fd)?)),
            Kind::Other => read_in_thread(fd),
        }
    }

    fn open_output(fd: BorrowedFd<'_>) -> io::Result<Option<Output>> {
        Ok(match Kind::of(fd)? {
            Kind::Pipe => match pipe::OpenOptions::new().open_sender(own_path(fd)) {
                Ok(pipe) => Some(Box::new(pipe)),
                Err(_) => None,
            },
            Kind::Socket => Some(Box::new(Socket::new(fd)?)),
            Kind::Other => None,
        })
    }

    /// Opening a pipe once more gives it flags of its own: it can be made non-blocking without making it so for the
    /// processes that share it. Linux only; elsewhere there is no such path.
    fn own_path(fd: BorrowedFd<'_>) -> String {
        format!("/proc/self/fd/{}", fd.as_raw_fd())
    }

    /// What a descriptor stands for, as far as it matters here.
    #[derive(Debug, PartialEq, Eq)]
    enum Kind {
        Pipe,
        Socket,
        Other,
    }

    impl Kind {
        fn of(fd: BorrowedFd<'_>) -> io::Result<Self> {
            let metadata = File::from(fd.try_clone_to_owned()?).metadata()?;
            let kind = metadata.file_type();
            if kind.is_fifo() {
                return Ok(Self::Pipe);
            }
            // Non-blocking mode belongs to the socket, not to the descriptor: where the log goes to the same socket,
            // it would lose lines.
            let is_log = File::from(io::stderr().as_fd().try_clone_to_owned()?)
                .metadata()
                .is_ok_and(|log| (log.dev(), log.ino()) == (metadata.dev(), metadata.ino()));
            Ok(if kind.is_socket() && !is_log { Self::Socket } else { Self::Other })
        }
    }

    /// A socket, made non-blocking as long as it is in use here.
    struct Socket {
        stream: tokio::net::UnixStream,
        original: UnixStream,
    }

    impl Socket {
        fn new(fd: BorrowedFd<'_>) -> io::Result<Self> {
            let original = UnixStream::from(fd.try_clone_to_owned()?);
            original.set_nonblocking(true)?;
            let stream = tokio::net::UnixStream::from_std(original.try_clone()?)?;
            Ok(Self { stream, original })
        }
    }

    impl Drop for Socket {
        fn drop(&mut self) {
            if let Err(error) = self.original.set_nonblocking(false) {
                tracing::debug!(%error, "a socket stays non-blocking");
            }
        }
    }

    impl AsyncRead for Socket {
        fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.stream).poll_read(cx, buf)
        }
    }

    impl AsyncWrite for Socket {
        fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
            Pin::new(&mut self.stream).poll_write(cx, buf)
        }

        fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.stream).poll_flush(cx)
        }

        /// Nothing: the other direction of the same socket may still be in use, and the end of the process closes it.
        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    /// Reads in a thread of its own, which may wait for a terminal for ever: nothing waits for the thread, as the
    /// runtime would for one of its own.
    fn read_in_thread(fd: BorrowedFd<'_>) -> io::Result<Input> {
        let mut file = File::from(fd.try_clone_to_owned()?);
        let (mut from, to) = UnixStream::pair()?;
        to.set_nonblocking(true)?;
        let to = tokio::net::UnixStream::from_std(to)?;
        std::thread::Builder::new().name("lore-stdin".to_owned()).spawn(move || {
            if let Err(error) = io::copy(&mut file, &mut from)
                && error.kind() != io::ErrorKind::BrokenPipe
            {
                tracing::warn!(%error, "the input cannot be read any further");
            }
        })?;
        Ok(Box::new(to))
    }

    #[cfg(test)]
    mod tests {
        use std::io::{Read as _, Write as _};

        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

        use super::*;

        /// The kind of an input, and all that can be read from it.
        async fn check(fd: impl AsFd, kind: Kind, expected: &str) {
            assert_eq!(Kind::of(fd.as_fd()).unwrap(), kind);
            let mut input = open_input(fd.as_fd()).unwrap();
            drop(fd);
            let mut text = String::new();
            input.read_to_string(&mut text).await.unwrap();
            assert_eq!(text, expected);
        }

        #[tokio::test]
        async fn a_pipe_is_read_to_its_end() {
            let (read, mut write) = io::pipe().unwrap();
            write.write_all(b"hello").unwrap();
            drop(write);
            check(read, Kind::Pipe, "hello").await;
        }

        #[tokio::test]
        async fn a_socket_is_read_to_its_end() {
            let (read, mut write) = UnixStream::pair().unwrap();
            write.write_all(b"hello").unwrap();
            drop(write);
            check(read, Kind::Socket, "hello").await;
        }

        #[tokio::test]
        async fn a_file_and_a_device_are_read_to_their_end() {
            check(File::open("/dev/null").unwrap(), Kind::Other, "").await;
            let file = File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
            check(file, Kind::Other, include_str!("../Cargo.toml")).await;
        }

        #[tokio::test]
        async fn an_output_that_cannot_be_driven_is_left_to_the_blocking_way() {
            assert!(open_output(File::open("/dev/null").unwrap().as_fd()).unwrap().is_none());
        }

        #[tokio::test]
        async fn a_pipe_and_a_socket_are_written_to() {
            let (mut read, write) = io::pipe().unwrap();
            let mut output = open_output(write.as_fd()).unwrap().unwrap();
            output.write_all(b"hello").await.unwrap();
            drop((output, write));
            let mut text = String::new();
            read.read_to_string(&mut text).unwrap();
            assert_eq!(text, "hello");

            let (mut read, write) = UnixStream::pair().unwrap();
            let mut output = open_output(write.as_fd()).unwrap().unwrap();
            output.write_all(b"hello").await.unwrap();
            drop((output, write));
            text.clear();
            read.read_to_string(&mut text).unwrap();
            assert_eq!(text, "hello");
        }

        #[tokio::test]
        async fn a_socket_blocks_again_when_it_is_no_longer_in_use() {
            let (read, _write) = UnixStream::pair().unwrap();
            let input = open_input(read.as_fd()).unwrap();
            assert_eq!((&read).read(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
            drop(input);
            read.set_read_timeout(Some(std::time::Duration::from_millis(1))).unwrap();
            let started = std::time::Instant::now();
            assert_eq!((&read).read(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
            assert!(started.elapsed() >= std::time::Duration::from_millis(1), "it waited");
        }
    }
}
