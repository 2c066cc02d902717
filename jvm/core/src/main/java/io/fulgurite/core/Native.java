package io.fulgurite.core;

import java.io.InputStream;
import java.io.OutputStream;

/**
 * The native methods. This class is the single source of their signatures: the library binds to it when it is
 * loaded and refuses to load when the two disagree.
 *
 * <p>Byte arrays are UTF-8 JSON. A <em>handle</em> is a {@code long} that names blocks of a matrix in the library's
 * registry; 0 names nothing. A handle that is unknown or released is an error, never a crash. Who owns a handle has
 * to {@link #release} it, exactly once; {@link NativeHandle} does that.
 *
 * <p>All methods may be called from any thread, once {@link NativeLibrary#load()} has returned. Errors arrive as
 * {@link FulguriteException}.
 */
public final class Native {
    private Native() {}

    /**
     * Compares the versions of jar and library.
     *
     * @param shim {@code {"version": "0.1.0", "build": "…"}}, as built into the jar
     * @return {@code {"version", "build", "platform", "cpuFeatures", "threads", "debugAssertions", "liveHandles",
     *     "liveBytes"}}; the last two count what the registry holds at this moment
     */
    public static native byte[] handshake(byte[] shim);

    /**
     * Runs a request on the driver: {@code execute}, {@code explain} or {@code check}. Returns when it is done.
     *
     * @param request see docs/decisions/requests-as-json.md; handles of local inputs stay the caller's
     * @param host what distributed work and {@code print} need; called on this thread, and on threads that it starts
     *     itself ({@link Host#serve}), before this method returns. May be null for requests that need neither
     * @return the reply; the caller owns the handles and datasets of its outputs
     */
    public static native byte[] call(byte[] request, Host host);

    /**
     * Asks a request or a task that runs on another thread to stop. Its {@link #call}, or {@link #runTask}, then ends with an exception of kind {@code interrupted}:
     * at once in loops and operators, which leave a large factorization to itself.
     *
     * @param run the number that the request has in its field {@code run}, or the task was run with
     * @return whether there is such a run; one that has not begun yet does not
     */
    public static native boolean interrupt(long run);

    /**
     * Calls {@link Host#apply} on this thread for iterations of a loop, until the loop is over.
     *
     * @param callers what {@link Host#serve} was called with
     * @param number of this thread, from 0; each number comes once
     */
    public static native void serve(long callers, int number);

    /**
     * Takes blocks over from an Arrow record batch in the C data interface, without copying values.
     *
     * @param array address of a filled {@code ArrowArray} struct. The library moves its content out and marks it
     *     released, whether this method returns or throws; the memory of the struct itself stays the caller's
     * @param schema address of a filled {@code ArrowSchema} struct, treated in the same way
     * @return a handle that the caller owns
     */
    public static native long importBlocks(long array, long schema);

    /**
     * Gives blocks away as an Arrow record batch in the C data interface, without copying values.
     *
     * @param handle stays the caller's, and may be released while the batch is still in use
     * @param array address of an empty {@code ArrowArray} struct. Once filled, its owner has to call its release
     *     callback (importing it into Arrow's Java library does)
     * @param schema address of an empty {@code ArrowSchema} struct, treated in the same way
     */
    public static native void exportBlocks(long handle, long array, long schema);

    /**
     * What {@link #runTask}, or {@link #runCombined} if {@code combining}, takes at most with these arguments.
     *
     * @return bytes beside those of stripes and broadcasts; 0 where they depend on values
     */
    public static native long taskMemory(byte[] task, boolean combining, long[] stripes, long[] broadcasts);

    /**
     * Runs a task on an executor, on this thread, once for each run: a run has one stripe of each input, and what a call costs is
     * spent once for all runs.
     *
     * @param run what {@link #interrupt} calls this run, in this process; 0 if it cannot be interrupted
     * @param task a dataflow task: a DAG with its plans, and what its variables are bound to. Or a range of iterations
     *     of a loop, {@code {"range": {"number", "first", "increment", "count"}, "loop": …}} from the first character on, with
     *     the stripe that they run on, or none
     * @param stripes a handle for each stripe variable, in the task's order, for the first run, then those for the second
     *     one, and so on; they stay the caller's
     * @param broadcasts a handle for each broadcast variable, in the task's order; they stay the caller's
     * @return the handle of the result of each run, which the caller owns
     */
    public static native long[] runTask(long run, byte[] task, long[] stripes, long[] broadcasts);

    /**
     * Runs a task as {@link #runTask} does, and makes one of the results, as {@link #combine} does, from the first to the last. If
     * the task goes over another dataset, a stripe of that is the last of the broadcasts.
     *
     * @param combine as for {@link #combine}
     * @param before what the first result is combined with, which stays the caller's; 0 for nothing
     * @return the handle of the result, which the caller owns
     */
    public static native long runCombined(long run, byte[] task, byte[] combine, long before, long[] stripes, long[] broadcasts);

    /**
     * Makes one partial result of two, cell by cell.
     *
     * @param combine {@code "sum"}, {@code "product"}, {@code "min"} or {@code "max"}, as a JSON string; {@code {"byRow": [...]}} with one for each row
     * @param left stays the caller's
     * @param right stays the caller's
     * @return the handle of the result, which the caller owns
     */
    public static native long combine(byte[] combine, long left, long right);

    /**
     * Says what a handle names.
     *
     * @return {@code {"rows", "cols", "nnz", "bytes", "blocks": [{"rowOffset", "columnOffset", "rows", "cols", "nnz",
     *     "bytes", "layout": "dense" | "csr" | "coordinate"}]}}; {@code rows} and {@code cols} span all blocks. The first
     *     result of a call of {@link #runTask} for which fused operators were compiled also has {@code "compiled": {"plans",
     *     "nanoseconds"}}, those of a range of iterations {@code "account"}: what each block is, and what else happened
     */
    public static native byte[] describe(long handle);

    /**
     * Says what a handle names, in numbers, and where it lies. It costs no text, as {@link #describe} does.
     *
     * @return of the call of {@link #runTask} whose first result this is, how many fused operators were compiled for it, how many
     *     nanoseconds that took, and how many its operators took, compiling included, for any other result 0; then for each block: row offset, rows, columns, bytes, layout (0 dense, 1 CSR, 2 coordinates),
     *     address of the values, how many are stored, address of the row pointers (of coordinates, the row numbers), address
     *     of the column indices. Addresses hold until
     *     the handle is released
     */
    public static native long[] look(long handle);

    /**
     * Counts the cells of all blocks of a handle that are not 0 (NaN counts). It takes as long as reading what they store.
     *
     * @param handle stays the caller's
     */
    public static native long nonZeros(long handle);

    /**
     * A number that depends on each bit of what the one block of a handle stores, but not on its place: the same block, made again,
     * has the same one. It takes as long as reading the block.
     *
     * @param handle stays the caller's
     */
    public static native long checksum(long handle);

    /**
     * The one block of a handle at another place of its matrix, without a copy of values.
     *
     * @param handle stays the caller's
     * @param rowOffset where the block's first row stands, from 0
     * @return a handle that the caller owns
     */
    public static native long place(long handle, long rowOffset);

    /**
     * One block of several, below each other from the first to the last, in the layout that suits it.
     *
     * @param handles of one block each, as wide as the others; they stay the caller's
     * @return the handle of the result, which the caller owns; it stands where the first one does
     */
    public static native long join(long[] handles);

    /**
     * As {@link #join}, of handles that may have several blocks each.
     *
     * @param handles stay the caller's; one may stand there several times
     * @param numbers for each handle, which of its blocks, from 0
     * @return the handle of the result, which the caller owns; it stands where the first one does
     */
    public static native long joinBlocks(long[] handles, long[] numbers);

    /**
     * Some of the blocks of a handle, without a copy of values.
     *
     * @param handle stays the caller's
     * @param from the first one, from 0
     * @param until the one after the last one
     * @return a handle that the caller owns
     */
    public static native long part(long handle, long from, long until);

    /**
     * Writes blocks as an Arrow IPC stream, at most 1 MB at a time. What {@code output} throws is thrown.
     *
     * @param handle stays the caller's
     * @param output is called on this thread only, and stays open
     */
    public static native void write(long handle, OutputStream output);

    /**
     * Reads what {@link #write} wrote, to its last byte and not further. What {@code input} throws is thrown.
     *
     * @param input is called on this thread only, and stays open
     * @return a handle that the caller owns
     */
    public static native long read(InputStream input);

    /**
     * Blocks that stay in their file, of which nothing is copied but the positions of sparse cells. The file must keep its
     * contents until the blocks are released.
     *
     * @param path of a local file, in UTF-8
     * @param head what a stream of {@link #write} begins with, its schema
     * @param offset where blocks of such a stream begin in the file
     * @param length their bytes
     * @return a handle that the caller owns, or 0 where the file lies on no local disk, and is to be read
     */
    public static native long map(byte[] path, byte[] head, long offset, long length);

    /**
     * Parses whole lines of text, on this thread. What is wrong with a line is part of the reply; errors are about the format.
     *
     * @param format what lines are: {@code {"kind": "csv", "separator", "fill", "default", "naStrings", "columns", "mostRows"}} or
     *     {@code {"kind": "libsvm", "columns", "mostRows", "mostBytes"}}, which become stripes, each in the layout that suits it, or, without
     *     {@code columns}, say how many there are; {@code {"kind": "cells", "rows", "cols", "pattern", "symmetry"}}, which become rows of
     *     row and column, from 1, and value; {@code {"kind": "values"}}, those of an array, which become a column; {@code {"kind":
     *     "header"}}, the first bytes of a MatrixMarket file
     * @param text lines of bytes, the last of which need not end
     * @param length how many bytes of {@code text} there are
     * @return {@code {"lines", "handles": […], "columns", "header": {…}, "problem": {"line", "reason", "text", "help"}}}: how many lines
     *     there are, and what applies; the line of a problem counts from 1. The caller owns the handles, of one block each, in the order
     *     of lines
     */
    public static native byte[] parseText(byte[] format, byte[] text, int length);

    /**
     * Cuts cells, which are rows of row and column, from 1, and value, by ranges of rows.
     *
     * @param how {@code {"starts": [0, …], "symmetry": "general" | "symmetric" | "skew"}}: the first rows of the ranges, from 0; with a
     *     symmetry a cell stands for the one across the diagonal, too
     * @param cells stays the caller's
     * @return a handle of cells for each range, which the caller owns; 0 where there are none
     */
    public static native long[] spreadCells(byte[] how, long cells);

    /**
     * Makes stripes of the cells of a range of rows, in any order. What has no cell is 0.
     *
     * @param how {@code {"from", "until", "cols", "height", "mayBeDense"}}: the range, from 0, the columns and the height of a stripe, and
     *     whether stripes with few zeros are dense
     * @param cells as {@link #spreadCells} takes them; they stay the caller's
     * @return {@code {"handles": […]}}, of one block each, in the order of rows, which the caller owns; or, with none, {@code {"twice":
     *     [row, column]}}, from 1, of a cell that stands twice
     */
    public static native byte[] gatherCells(byte[] how, long[] cells);

    /**
     * Writes the rows of the one block of a handle as lines of text, as a local file has them. What {@code output} throws is thrown.
     *
     * @param handle stays the caller's
     * @param format {@code {"kind": "csv", "separator", "header", "sparse"}}, {@code {"kind": "cells"}} or {@code {"kind": "libsvm"}}
     * @param output is called on this thread only, and stays open
     */
    public static native void formatText(long handle, byte[] format, OutputStream output);

    /**
     * Runs a relational plan on one table, on this thread. Tables cross in the C data interface, as {@link #importBlocks} and {@link
     * #exportBlocks} have it.
     *
     * @param plan filters, projections and grouped aggregates of the table, which is the plan's scan 0
     * @param array address of a filled {@code ArrowArray} struct, of a record batch of any columns that plans know
     * @param schema address of a filled {@code ArrowSchema} struct
     * @param resultArray address of an empty {@code ArrowArray} struct, for the result
     * @param resultSchema address of an empty {@code ArrowSchema} struct
     */
    public static native void relate(byte[] plan, long array, long schema, long resultArray, long resultSchema);

    /** Frees what a handle names. A second call, and 0, do nothing. */
    public static native void release(long handle);
}
