//! Mapped files that are cut off, or cannot be read any more, while a matrix lies in them.
//!
//! The system answers a read behind the end of a mapped file with the signal SIGBUS, which ends the process unless somebody handles it.
//! Our handler puts a page of zeros where the file's was, so that the reader goes on, and notes it; [`check`] makes an error of the note,
//! after each operator and before a file that was written gets its name. Signals that are about other memory go to the handler that was
//! there before, as the JVM's.

use memmap2::Mmap;

use fulgurite_error::{Error, Result};

/// A mapped file that may be cut off.
pub(super) struct WatchedMap {
    map: Mmap,
    _slot: watch::Slot,
}

impl WatchedMap {
    /// Nothing where it cannot be watched; the file is to be read then.
    pub(super) fn of(map: Mmap) -> Option<Self> {
        let slot = watch::Slot::of(map.as_ptr().addr(), map.len())?;
        Some(WatchedMap { map, _slot: slot })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.map
    }
}

/// # Errors
/// `data`, where a file in which a matrix lies was found to be cut off. The matrix is damaged for as long as it lives.
pub fn check() -> Result<()> {
    match watch::is_damaged() {
        false => Ok(()),
        true => Err(Error::data(
            "a binary file was cut off, or could not be read any more, while a matrix was in it",
        )
        .with_help(
            "don't write into files that are read; fulgurite.read.map=false copies what is read",
        )),
    }
}

#[cfg(target_os = "linux")]
mod watch {
    use std::{
        ffi::{c_int, c_void},
        mem::MaybeUninit,
        ptr,
        sync::{
            OnceLock,
            atomic::{AtomicBool, AtomicUsize, Ordering},
        },
    };

    /// Maps that are watched at the same time: as many as Linux gives a process. What is more is read.
    const MOST: usize = 1 << 16;

    static RANGES: [Range; MOST] = [const { Range::free() }; MOST];
    /// Where the search for a free range begins.
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    /// How many maps are damaged.
    static DAMAGED: AtomicUsize = AtomicUsize::new(0);
    /// What handled the signal before.
    static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

    struct Range {
        taken: AtomicBool,
        start: AtomicUsize,
        /// 0 where nothing is mapped.
        end: AtomicUsize,
        damaged: AtomicBool,
    }

    impl Range {
        const fn free() -> Self {
            Range {
                taken: AtomicBool::new(false),
                start: AtomicUsize::new(0),
                end: AtomicUsize::new(0),
                damaged: AtomicBool::new(false),
            }
        }

        fn has(&self, address: usize) -> bool {
            let end = self.end.load(Ordering::Acquire);
            address < end && address >= self.start.load(Ordering::Acquire)
        }
    }

    pub(super) fn is_damaged() -> bool {
        DAMAGED.load(Ordering::Acquire) > 0
    }

    /// A range of addresses that the handler knows, until it is dropped.
    pub(super) struct Slot(&'static Range);

    impl Slot {
        pub(super) fn of(start: usize, length: usize) -> Option<Self> {
            if !installed() {
                return None;
            }
            let end = start.checked_add(length)?;
            let first = NEXT.fetch_add(1, Ordering::Relaxed) % MOST;
            let (before, from) = RANGES.split_at(first);
            let free = from.iter().chain(before).find(|range| {
                let taken =
                    range
                        .taken
                        .compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed);
                taken.is_ok()
            })?;
            free.start.store(start, Ordering::Release);
            free.end.store(end, Ordering::Release);
            Some(Slot(free))
        }
    }

    impl Drop for Slot {
        fn drop(&mut self) {
            self.0.end.store(0, Ordering::Release);
            if self.0.damaged.swap(false, Ordering::AcqRel) {
                DAMAGED.fetch_sub(1, Ordering::AcqRel);
            }
            self.0.taken.store(false, Ordering::Release);
        }
    }

    /// Whether the handler is there: it comes with the first map.
    fn installed() -> bool {
        static INSTALLED: OnceLock<bool> = OnceLock::new();
        *INSTALLED.get_or_init(|| {
            let mut previous = MaybeUninit::<libc::sigaction>::zeroed();
            // SAFETY: a null action asks for the one that is there, which the system writes into `previous`.
            let asked =
                unsafe { libc::sigaction(libc::SIGBUS, ptr::null(), previous.as_mut_ptr()) };
            if asked != 0 {
                return false;
            }
            // SAFETY: the system has written it; zeros were a valid one before, too.
            let previous = unsafe { previous.assume_init() };
            // The handler may be called as soon as it is set: it finds what was there before.
            if PREVIOUS.set(previous).is_err() {
                return false;
            }
            // SAFETY: all-zero is a valid `sigaction`, of which the fields that matter are set below.
            let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
            action.sa_sigaction = on_bus_error as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            // SAFETY: the mask is this action's own.
            unsafe { libc::sigemptyset(&raw mut action.sa_mask) };
            // SAFETY: the handler does only what a signal handler may do, see there.
            unsafe { libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()) == 0 }
        })
    }

    /// Runs while a thread stands at any instruction: it allocates nothing, takes no lock, and calls only the system.
    extern "C" fn on_bus_error(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        // SAFETY: with SA_SIGINFO the system passes a valid description; an address is part of it for this signal.
        let (code, address) = unsafe { ((*info).si_code, (*info).si_addr().addr()) };
        if code == libc::BUS_ADRERR
            && let Some(range) = RANGES.iter().find(|range| range.has(address))
            && put_zeros_at(address)
        {
            if !range.damaged.swap(true, Ordering::AcqRel) {
                DAMAGED.fetch_add(1, Ordering::AcqRel);
            }
            return;
        }
        forward(signal, info, context);
    }

    /// Replaces the page of an address by one of zeros; false where the system does not.
    fn put_zeros_at(address: usize) -> bool {
        // SAFETY: asks for a number; the C library keeps an error code for each thread.
        let (page, error) =
            unsafe { (libc::sysconf(libc::_SC_PAGESIZE), libc::__errno_location()) };
        let Ok(page) = usize::try_from(page) else {
            return false;
        };
        // SAFETY: the thread's own.
        let before = unsafe { *error };
        let start = ptr::with_exposed_provenance_mut::<c_void>(address - address % page);
        // SAFETY: the page lies in a range that is a map of ours, which nobody writes to: readers see zeros in place of what is gone.
        let mapped = unsafe {
            libc::mmap(
                start,
                page,
                libc::PROT_READ,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                -1,
                0,
            )
        };
        // SAFETY: as above; the interrupted code finds it as it was.
        unsafe { *error = before };
        mapped == start
    }

    /// Lets the handler that was there before have the signal.
    fn forward(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        let previous = PREVIOUS.get();
        match previous.map(|previous| (previous.sa_sigaction, previous.sa_flags)) {
            None | Some((libc::SIG_DFL | libc::SIG_IGN, _)) => {
                // SAFETY: the default action ends the process, as it would have without us.
                unsafe {
                    libc::signal(signal, libc::SIG_DFL);
                    libc::raise(signal);
                }
            }
            Some((handler, flags)) if flags & libc::SA_SIGINFO != 0 => {
                type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
                // SAFETY: with this flag it is a function of these parameters.
                let handler = unsafe { std::mem::transmute::<usize, Handler>(handler) };
                handler(signal, info, context);
            }
            Some((handler, _)) => {
                // SAFETY: without the flag it is a function of the signal's number.
                let handler =
                    unsafe { std::mem::transmute::<usize, extern "C" fn(c_int)>(handler) };
                handler(signal);
            }
        }
    }
}

/// Files are mapped on Linux alone.
#[cfg(not(target_os = "linux"))]
mod watch {
    pub(super) struct Slot;

    impl Slot {
        pub(super) fn of(_start: usize, _length: usize) -> Option<Self> {
            None
        }
    }

    pub(super) fn is_damaged() -> bool {
        false
    }
}
