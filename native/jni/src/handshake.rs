//! Jar and library make sure that they belong together.

use fulgurite_error::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::registry::Live;

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Which build of this version: set when packaging, for both sides.
pub(crate) const BUILD: &str = match option_env!("FULGURITE_BUILD_ID") {
    Some(build) => build,
    None => "dev",
};

/// What the jar says of itself.
#[derive(Deserialize)]
struct Jar {
    version: String,
    build: String,
}

/// What the library says of itself.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Library {
    version: &'static str,
    build: &'static str,
    platform: String,
    cpu_features: Vec<&'static str>,
    debug_assertions: bool,
    live_handles: usize,
    live_bytes: usize,
}

/// # Errors
/// `argument` when the jar is of another version or build.
pub(crate) fn handshake(jar: &[u8], live: &Live) -> Result<Vec<u8>> {
    let jar: Jar = serde_json::from_slice(jar).map_err(|error| {
        Error::argument(format!("the jar's handshake is not understood: {error}"))
    })?;
    if (jar.version.as_str(), jar.build.as_str()) != (VERSION, BUILD) {
        return Err(Error::argument(format!(
            "the jar is Fulgurite {} (build {}), the native library {VERSION} (build {BUILD})",
            jar.version, jar.build
        ))
        .with_help(
            "take both from one build: unset fulgurite.native.path and clear java.library.path of older libraries, or rebuild the \
             library and then the jar",
        ));
    }
    let library = Library {
        version: VERSION,
        build: BUILD,
        platform: format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH),
        cpu_features: cpu_features(),
        debug_assertions: cfg!(debug_assertions),
        live_handles: live.handles,
        live_bytes: live.bytes,
    };
    serde_json::to_vec(&library).map_err(|error| Error::internal(error.to_string()))
}

/// The vector extensions that generated code may use on this machine.
fn cpu_features() -> Vec<&'static str> {
    macro_rules! detected {
        ($detect:ident: $($feature:tt),*) => {
            [$(($feature, std::arch::$detect!($feature))),*]
                .into_iter()
                .filter_map(|(name, present)| present.then_some(name))
                .collect()
        };
    }
    #[cfg(target_arch = "x86_64")]
    return detected!(is_x86_feature_detected: "sse3", "ssse3", "sse4.1", "sse4.2", "avx", "avx2", "fma", "bmi1", "bmi2", "avx512f", "avx512dq", "avx512vl");
    #[cfg(target_arch = "aarch64")]
    return detected!(is_aarch64_feature_detected: "neon", "sve");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIVE: Live = Live {
        handles: 2,
        bytes: 80,
    };

    #[test]
    fn the_same_build_is_welcome() {
        let jar = format!(r#"{{"version": "{VERSION}", "build": "{BUILD}"}}"#);
        let reply: serde_json::Value =
            serde_json::from_slice(&handshake(jar.as_bytes(), &LIVE).unwrap()).unwrap();
        assert_eq!(reply["version"], VERSION);
        assert_eq!(reply["liveHandles"], 2);
        assert_eq!(reply["liveBytes"], 80);
    }

    #[test]
    fn another_version_or_build_is_refused_with_both_named() {
        for (version, build) in [("0.0.9", BUILD), (VERSION, "4711")] {
            let jar = format!(r#"{{"version": "{version}", "build": "{build}"}}"#);
            let error = handshake(jar.as_bytes(), &LIVE).unwrap_err();
            assert!(
                error
                    .message()
                    .contains(&format!("Fulgurite {version} (build {build})")),
                "{error}"
            );
            assert!(
                error
                    .message()
                    .contains(&format!("library {VERSION} (build {BUILD})")),
                "{error}"
            );
        }
        assert!(handshake(b"{}", &LIVE).is_err());
    }
}
