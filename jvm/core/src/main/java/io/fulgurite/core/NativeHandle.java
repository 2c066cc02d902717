package io.fulgurite.core;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.util.concurrent.atomic.AtomicLong;
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

    /**
     * Lends the handle to {@code use}; it is not freed before {@code use} returns, except by a {@link #close()} of
     * another thread, which native methods answer with an error.
     */
    public <R> R with(LongFunction<R> use) {
        try {
            return use.apply(open());
        } finally {
            // Otherwise this object may be garbage, and cleaned, while native code runs.
            Reference.reachabilityFence(this);
        }
    }

    /** Gives the handle, and the duty to free it, to the caller; this object is closed then. */
    public long detach() {
        long handle = open();
        if (!owned.handle.compareAndSet(handle, 0)) {
            throw closed();
        }
        cleanable.clean();
        return handle;
    }

    public boolean isClosed() {
        return owned.handle.get() == 0;
    }

    /** Frees the handle; a second call does nothing. */
    @Override
    public void close() {
        cleanable.clean();
    }

    private long open() {
        long handle = owned.handle.get();
        if (handle == 0) {
            throw closed();
        }
        return handle;
    }

    private static FulguriteException closed() {
        return new FulguriteException("argument", "argument error: this matrix is closed", null);
    }

    /** What the cleaner runs; it must not refer to the {@link NativeHandle}. */
    private static final class Owned implements Runnable {
        final AtomicLong handle;
        final Runnable freed;

        Owned(long handle, Runnable freed) {
            this.handle = new AtomicLong(handle);
            this.freed = freed;
        }

        /** Once: {@link Cleaner.Cleanable#clean()} sees to that. */
        @Override
        public void run() {
            long owned = handle.getAndSet(0);
            if (owned != 0) {
                Native.release(owned);
            }
            freed.run();
        }
    }
}
