package io.fulgurite.core;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.util.List;
import java.util.function.Function;
import java.util.function.LongFunction;

/**
 * Owns a handle, and frees it exactly once: on {@link #close()} or, at the latest, when this object is garbage.
 * Safe to use from any thread.
 */
public final class NativeHandle implements AutoCloseable {
    private static final Cleaner CLEANER = Cleaner.create();

    private final Owned owned;
    private final Cleaner.Cleanable cleanable;

    /** Takes ownership of a handle that a native method returned. */
    public NativeHandle(long handle) {
        this(handle, () -> {});
    }

    /**
     * Takes ownership of a handle that a native method returned.
     *
     * @param freed runs once, when the handle has been freed or given away, perhaps on another thread; it must not refer to
     *     this object
     */
    public NativeHandle(long handle, Runnable freed) {
        if (handle == 0) {
            throw new FulguriteException("internal", "internal error: handle 0 names nothing that could be owned", null);
        }
        owned = new Owned(handle, freed);
        cleanable = CLEANER.register(this, owned);
    }

    /** Lends the handle to {@code use}; it is not freed before {@code use} returns, whoever closes it meanwhile. */
    public <R> R with(LongFunction<R> use) {
        long handle = owned.lend();
        try {
            return use.apply(handle);
        } finally {
            owned.giveBack();
            // Otherwise this object may be garbage, and cleaned, while native code runs.
            Reference.reachabilityFence(this);
        }
    }

    /** Lends several handles to {@code use}, as {@link #with} lends one. */
    public static <R> R withAll(List<NativeHandle> handles, Function<long[], R> use) {
        long[] lent = new long[handles.size()];
        int count = 0;
        try {
            for (NativeHandle handle : handles) {
                lent[count] = handle.owned.lend();
                count++;
            }
            return use.apply(lent);
        } finally {
            for (NativeHandle handle : handles.subList(0, count)) {
                handle.owned.giveBack();
            }
            Reference.reachabilityFence(handles);
        }
    }

    /** Gives the handle, and the duty to free it, to the caller; this object is closed then. Nobody may be using it. */
    public long detach() {
        long handle = owned.give();
        cleanable.clean();
        return handle;
    }

    public boolean isClosed() {
        return owned.isClosed();
    }

    /** Frees the handle, when the last one that it is lent to has returned; a second call does nothing. */
    @Override
    public void close() {
        cleanable.clean();
    }

    private static FulguriteException closed() {
        return new FulguriteException("argument", "argument error: this matrix is closed", null);
    }

    /** What the cleaner runs; it must not refer to the {@link NativeHandle}. */
    private static final class Owned implements Runnable {
        private final Runnable freed;
        private long handle;
        private int borrowers;
        private boolean closed;

        Owned(long handle, Runnable freed) {
            this.handle = handle;
            this.freed = freed;
        }

        synchronized boolean isClosed() {
            return closed;
        }

        synchronized long lend() {
            if (closed) {
                throw NativeHandle.closed();
            }
            borrowers++;
            return handle;
        }

        void giveBack() {
            boolean last;
            synchronized (this) {
                borrowers--;
                last = closed && borrowers == 0;
            }
            if (last) {
                free();
            }
        }

        synchronized long give() {
            if (closed) {
                throw NativeHandle.closed();
            }
            if (borrowers > 0) {
                throw new FulguriteException("argument", "argument error: this matrix is in use", null);
            }
            long given = handle;
            handle = 0;
            closed = true;
            return given;
        }

        /** Once: {@link Cleaner.Cleanable#clean()} sees to that. */
        @Override
        public void run() {
            boolean unused;
            synchronized (this) {
                closed = true;
                unused = borrowers == 0;
            }
            if (unused) {
                free();
            }
        }

        /** By the one who found that nobody uses the handle any more. */
        private void free() {
            if (handle != 0) {
                Native.release(handle);
            }
            freed.run();
        }
    }
}
