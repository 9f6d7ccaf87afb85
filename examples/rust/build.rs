// Links libsurety where pkg-config finds it, and lets the program find it there.
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    let found = Command::new("pkg-config")
        .args(["--variable=libdir", "surety"])
        .output()
        .expect("pkg-config must be installed");
    assert!(found.status.success(), "pkg-config finds no surety: set PKG_CONFIG_PATH");
    let folder = String::from_utf8(found.stdout).expect("a path in UTF-8");
    println!("cargo:rustc-link-search=native={}", folder.trim());
    println!("cargo:rustc-link-lib=dylib=surety");
    println!("cargo:rustc-link-arg=-Wl,-rpath,{}", folder.trim());
}
