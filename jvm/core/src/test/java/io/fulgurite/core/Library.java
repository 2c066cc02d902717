package io.fulgurite.core;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Properties;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The loaded library with text instead of bytes, and just enough JSON for tests. */
final class Library {
    static {
        NativeLibrary.load();
    }

    private Library() {}

    static String handshake() {
        Properties build = new Properties();
        try (InputStream properties = Native.class.getResourceAsStream("build.properties")) {
            build.load(properties);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
        String shim = "{\"version\": \"" + build.getProperty("version") + "\", \"build\": \"" + build.getProperty("build") + "\"}";
        return text(Native.handshake(bytes(shim)));
    }

    static long liveHandles() {
        return number(handshake(), "liveHandles");
    }

    static String call(String request, Host host) {
        return text(Native.call(bytes(request), host));
    }

    /** Runs a script that assigns its result to X. */
    static String execute(String script, Host host) {
        return call("{\"command\": \"execute\", \"name\": \"test.dml\", \"script\": \"" + script + "\", \"outputs\": [\"X\"]}", host);
    }

    /** A matrix of ones. */
    static NativeHandle ones(int rows, int cols) {
        return new NativeHandle(number(execute("X = matrix(1, rows=" + rows + ", cols=" + cols + ")", null), "handle"));
    }

    static String describe(long handle) {
        return text(Native.describe(handle));
    }

    /** The first number with this name. */
    static long number(String json, String name) {
        Matcher matcher = Pattern.compile("\"" + name + "\":(-?\\d+)").matcher(json);
        assertTrue(matcher.find(), () -> "no '" + name + "' in " + json);
        return Long.parseLong(matcher.group(1));
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
