package io.fulgurite.core;

import java.util.Locale;

/** Operating system and processor, named as the folders of bundled libraries are: {@code linux-x86_64}. */
record Platform(String system, String architecture) {
    static Platform current() {
        return of(System.getProperty("os.name"), System.getProperty("os.arch"));
    }

    /** Java's names differ between vendors and systems; ours do not. */
    static Platform of(String osName, String osArch) {
        String name = osName.toLowerCase(Locale.ROOT);
        String system = name.startsWith("mac") ? "macos" : name.startsWith("windows") ? "windows" : name.replace(' ', '_');
        String architecture = switch (osArch.toLowerCase(Locale.ROOT)) {
            case "amd64", "x86_64", "x64" -> "x86_64";
            case "arm64", "aarch64" -> "aarch64";
            default -> osArch.toLowerCase(Locale.ROOT);
        };
        return new Platform(system, architecture);
    }

    String resource(String library) {
        return "/io/fulgurite/native/" + this + "/" + library;
    }

    @Override
    public String toString() {
        return system + "-" + architecture;
    }
}
