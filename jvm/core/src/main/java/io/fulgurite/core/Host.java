package io.fulgurite.core;

/**
 * What the control program needs of its surroundings. {@link Native#call} uses it on the calling thread and, for
 * iterations of a loop whose jobs run beside each other, on threads that {@link #serve} starts; not after it has returned.
 *
 * <p>An exception thrown here ends the request and comes out of {@link Native#call} as the same object. Where the
 * script stood is then a {@linkplain Throwable#getSuppressed() suppressed} {@link FulguriteException}.
 */
public interface Host {
    /**
     * Runs a primitive of the distributed dataflow.
     *
     * @param primitive {@code {"primitive": "mapPartitions", …, "operator": "ba(+*) mlogreg.dml:42"}}; the operator is
     *     the one of the script for which it is, where it is for one
     * @param payload a handle that the callee owns from here on, 0 for none
     * @return {@code {"dataset", "broadcast", "rows", "cols", "nnz", "payload", "file", "folder"}}, each only where the
     *     primitive gives one; {@code payload} is a handle that the native side then owns. Or {@code {"problem": {"message",
     *     "help"}}} with a file that the script names, which is no failure of the host
     */
    byte[] apply(byte[] primitive, long payload);

    /** Shows a line that the script printed; without its line end. */
    void print(byte[] line);

    /**
     * Starts threads, each of which calls {@link Native#serve} with these callers and a number of its own, and ends when
     * that returns. Does not wait for them. {@link #apply} is then called on several threads at the same time;
     * {@link #print} is not.
     *
     * @param callers names the threads of a loop
     * @param threads how many; their numbers begin with 0
     */
    void serve(long callers, int threads);

    /** Ends what {@link #apply} does for this thread of the callers, with an exception that nobody will see. */
    void cancel(long callers, int number);
}
