package io.fulgurite.core;

import java.lang.reflect.Field;
import java.lang.reflect.Method;

/** Memory for one {@code ArrowArray} and one {@code ArrowSchema}, as an importer allocates it. */
final class ArrowStructs implements AutoCloseable {
    private static final long ARRAY_BYTES = 80;
    private static final long SCHEMA_BYTES = 72;
    private static final long RELEASE_OF_ARRAY = 64;
    private static final Object UNSAFE = unsafe();

    final long array = (long) call("allocateMemory", ARRAY_BYTES);
    final long schema = (long) call("allocateMemory", SCHEMA_BYTES);

    ArrowStructs() {
        call("setMemory", array, ARRAY_BYTES, (byte) 0);
        call("setMemory", schema, SCHEMA_BYTES, (byte) 0);
    }

    /** Whether nobody owns the content of the array any more. */
    boolean isReleased() {
        return (long) call("getLong", array + RELEASE_OF_ARRAY) == 0;
    }

    @Override
    public void close() {
        call("freeMemory", array);
        call("freeMemory", schema);
    }

    // By reflection: javac warns of the class by name, and cannot be told not to.
    private static Object unsafe() {
        try {
            Field field = Class.forName("sun.misc.Unsafe").getDeclaredField("theUnsafe");
            field.setAccessible(true);
            return field.get(null);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    private static Object call(String name, Object... arguments) {
        Class<?>[] types = new Class<?>[arguments.length];
        for (int i = 0; i < arguments.length; i++) {
            types[i] = arguments[i] instanceof Long ? long.class : byte.class;
        }
        try {
            Method method = UNSAFE.getClass().getMethod(name, types);
            return method.invoke(UNSAFE, arguments);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }
}
