//! What a system does when one file replaces another, done beside the writer instead of when the file gets its name.
//!
//! ext4 then sends the new file to the disk, so that a crash leaves one of the two, and frees the pages and blocks of the old
//! one. On 300 MB this took 0.3 s, twice the time of the writes. A thread sends what is written meanwhile, and is the last to let go of the old
//! file. Without this help the system does the same, and the writer waits for it.

use std::{
    fs::File,
    sync::mpsc::{self, Sender},
    thread,
};

use crate::memory::{self, Begun};

/// Bytes that are worth a request to the system, and the first of them a thread.
const PIECE_BYTES: u64 = 8 << 20;

/// A file that will replace another.
#[derive(Default)]
pub(super) struct Replacing {
    written: u64,
    sent: u64,
    /// To the thread, which ends when this is dropped and its work is done.
    work: Option<Sender<Errand>>,
}

enum Errand {
    /// Bytes from a place in the new file on.
    Send {
        from: u64,
        bytes: u64,
    },
    LetGo(File),
}

impl Replacing {
    /// So many bytes more are in the file.
    pub(super) fn wrote(&mut self, file: &File, bytes: usize) {
        self.written += bytes as u64;
        let (from, bytes) = (self.sent, self.written - self.sent);
        if bytes < PIECE_BYTES {
            return;
        }
        self.sent = self.written;
        if self.work.is_none() {
            self.work = started(file);
        }
        self.order(Errand::Send { from, bytes });
    }

    /// Lets go of the file that was replaced.
    pub(super) fn replaced(&self, former: File) {
        self.order(Errand::LetGo(former));
    }

    fn order(&self, work: Errand) {
        if let Some(thread) = &self.work {
            // It ends before this one only if it panicked. Then nobody helps.
            let _ = thread.send(work);
        }
    }
}

/// Starts the thread; `None` where the system has none.
fn started(file: &File) -> Option<Sender<Errand>> {
    let file = file.try_clone().ok()?;
    let (work, received) = mpsc::channel();
    let run = move |begun: Begun| {
        begun.tell();
        for work in received {
            match work {
                Errand::Send { from, bytes } => start_to_send(&file, from, bytes),
                Errand::LetGo(former) => drop(former),
            }
        }
    };
    let thread = thread::Builder::new().name("fulgurite-replace".into());
    let started = memory::start_thread(None, |begun| thread.spawn(|| run(begun)));
    started.ok().map(|_| work)
}

/// Asks the system to send bytes of a file to the disk, and does not wait until they are there.
#[cfg(target_os = "linux")]
fn start_to_send(file: &File, from: u64, bytes: u64) {
    use std::os::fd::AsRawFd;

    let (Ok(from), Ok(bytes)) = (from.try_into(), bytes.try_into()) else {
        return;
    };
    // SAFETY: the descriptor is open for as long as the file is borrowed, and no memory is given away.
    unsafe { libc::sync_file_range(file.as_raw_fd(), from, bytes, libc::SYNC_FILE_RANGE_WRITE) };
}

#[cfg(not(target_os = "linux"))]
fn start_to_send(_file: &File, _from: u64, _bytes: u64) {}
