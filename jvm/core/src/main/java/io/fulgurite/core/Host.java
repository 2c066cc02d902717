package io.fulgurite.core;

/**
 * What the control program needs of its surroundings. {@link Native#call} uses it on the calling thread only, and
 * not after it has returned.
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
}
