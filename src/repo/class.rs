//! What a file could hold, by its name alone, and the byte strings without which it holds nothing for us. This
//! is what keeps a scan as cheap as walking and reading: nothing is parsed before a needle is found.

use super::needles::Needles;
use super::root_module::{is_json_file, is_module_file};

/// What a file could hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileClass {
    /// Terraform or OpenTofu configuration in native syntax.
    Module,
    /// The same in JSON.
    ModuleJson,
    /// `.hcl`: Terragrunt, a backend-config file, or another program's.
    Hcl,
    /// Terramate configuration.
    Terramate,
    /// A flat file that could be given to `-backend-config`: `.tfbackend`, `.tfvars`, `.conf`, …
    Flat,
    /// Other JSON: policies, CloudFormation, backend-config in JSON.
    Json,
    /// YAML: CI, Atmos, CloudFormation, Ansible, …
    Yaml,
    /// A template whose output is configuration.
    Template,
    /// A file whose name says that it pins versions.
    Pin,
    /// Any other text: scripts, Makefiles, Dockerfiles, wrappers, CDKTF source.
    Other,
    /// Documentation, images, archives: never settings.
    Skip,
}

/// Endings of files that hold prose or no text at all.
const SKIPPED: &[&str] = &[
    "md", "mdx", "markdown", "rst", "adoc", "txt", "html", "htm", "css", "svg", "png", "jpg", "jpeg", "gif",
    "ico", "webp", "pdf", "zip", "gz", "tgz", "bz2", "xz", "zst", "7z", "tar", "jar", "war", "class", "so",
    "a", "o", "dll", "dylib", "exe", "bin", "wasm", "woff", "woff2", "ttf", "otf", "eot", "mp3", "mp4",
    "mov", "avi", "pyc", "sum", "lock", "map", "csv", "tsv", "parquet", "sqlite", "db", "pem", "crt", "key",
    "gpg", "drawio", "tfstate", "tfplan", "diff", "patch", "log",
];

/// What a file of this name in this directory could hold.
pub fn class_in(dir: &str, name: &str) -> FileClass {
    // By far the most common answer needs no path.
    if is_module_file(name) && !dir.contains("{{") {
        return if is_json_file(name) { FileClass::ModuleJson } else { FileClass::Module };
    }
    class_of(&super::walk::join(dir, name), name)
}

/// What a file of this shown path could hold.
pub fn class_of(path: &str, name: &str) -> FileClass {
    if is_module_file(name) {
        // A cookiecutter directory's `.tf` files are templates, not yet configuration.
        if path.contains("{{") {
            return FileClass::Template;
        }
        return if is_json_file(name) { FileClass::ModuleJson } else { FileClass::Module };
    }
    // `.tool-versions`, `mise.toml`, …: no needle could be asked of them.
    if super::syntax::pins::is_version_file(path) {
        return FileClass::Pin;
    }
    if super::syntax::terramate::is_terramate(path) {
        return FileClass::Terramate;
    }
    if super::syntax::template::is_template(path) {
        return FileClass::Template;
    }
    let extension = name.rsplit_once('.').map_or("", |(_, end)| end);
    match extension {
        "hcl" if name == ".terraform.lock.hcl" => FileClass::Skip,
        "hcl" => FileClass::Hcl,
        "tfbackend" | "backend" | "tfvars" | "conf" | "config" | "cfg" | "properties" => FileClass::Flat,
        "tf" | "tofu" => FileClass::Skip, // editors' leavings: `.#main.tf`, `#main.tf#`
        "json" if name == "terragrunt.hcl.json" => FileClass::Hcl,
        "json" if name == "package-lock.json" => FileClass::Skip,
        "json" => FileClass::Json,
        "yml" | "yaml" => FileClass::Yaml,
        _ if SKIPPED.contains(&extension) => FileClass::Skip,
        _ => FileClass::Other,
    }
}

impl FileClass {
    /// Whether a git-ignored file of this class still counts where it is.
    pub fn counts_when_ignored(self) -> bool {
        matches!(self, FileClass::Module | FileClass::ModuleJson | FileClass::Hcl | FileClass::Flat)
    }

    /// Whether text that can't be read here would hide settings.
    pub fn is_configuration(self) -> bool {
        matches!(self, FileClass::Module | FileClass::ModuleJson | FileClass::Hcl | FileClass::Terramate)
    }
}

/// Most directories that constrain their versions have no backend: by itself this matters only beside one.
const REQUIRED_VERSION: &[u8] = b"required_version";

/// A module call: it matters only where the module has a backend of its own.
const MODULE_CALL: &[u8] = b"module";

/// What makes any module file matter, and more.
macro_rules! module_needles {
    ($($more:expr),*) => {
        Needles::new(&[
            b"backend",
            b"cloud",
            b"state_store",
            b"terraform_remote_state",
            b"dynamodb",
            b"tfstate",
            b"lockshift:",
            b"LockID",
            b"-lock=",
            b"DynamoDB",
            b"force-unlock",
            $($more),*
        ])
    };
}

/// What must be among the bytes of a module file for it to matter, be it through another file.
static MODULE: Needles = module_needles!(REQUIRED_VERSION, MODULE_CALL);

/// What makes it matter by itself.
static BY_ITSELF: Needles = module_needles!();

/// What must be among the bytes of one in JSON syntax.
static MODULE_JSON: Needles = module_needles!(REQUIRED_VERSION, b"\"./", b"\"../");

/// What the source of a local module may begin with, escapes included. Source: "Local Paths" in Terraform's "Module
/// Sources": `./` and `../`.
static LOCAL_SOURCE: Needles = Needles::new(&[b"\".", b"\"\\"]);

static CONSTRAINT: Needles = Needles::new(&[REQUIRED_VERSION]);

/// What must be among the bytes of any other file.
static OTHER: Needles = Needles::new(&[
    b"backend",
    b"dynamodb",
    b"use_lockfile",
    b"useLockfile",
    b"lock_table",
    b"remote_state",
    b"terraform",
    b"TERRAFORM",
    b"TF_",
    b"tofu",
    b"terragrunt",
    b"tfstate",
    b"LockID",
    b"-lock=",
    b"S3Backend",
    b"RemoteStateS3",
]);

/// How much the bytes of a file promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// Nothing.
    Nothing,
    /// What matters only through another file: version constraints beside a backend, calls of modules with one.
    Context,
    /// Anything.
    Facts,
}

/// Whether bytes of a file of this class are worth reading closer. Small files that are all settings are.
pub fn promise(class: FileClass, bytes: &[u8]) -> Promise {
    let facts = match class {
        FileClass::Skip => false,
        FileClass::Hcl | FileClass::Terramate | FileClass::Pin => true,
        FileClass::Flat => bytes.len() < 64 * 1024 || OTHER.any_in(bytes),
        FileClass::Module => return promise_of_module(bytes),
        // A key in JSON may be written with escapes.
        FileClass::ModuleJson => MODULE_JSON.any_in(bytes) || memchr::memmem::find(bytes, b"\\u").is_some(),
        FileClass::Json | FileClass::Yaml | FileClass::Template | FileClass::Other => OTHER.any_in(bytes),
    };
    if facts { Promise::Facts } else { Promise::Nothing }
}

fn promise_of_module(bytes: &[u8]) -> Promise {
    let Some((at, word)) = MODULE.first_at(bytes) else { return Promise::Nothing };
    // None of these stands before that; a source stands behind the word `module`.
    let rest = bytes.get(at..).unwrap_or_default();
    let by_itself = match word {
        REQUIRED_VERSION | MODULE_CALL => BY_ITSELF.any_in(rest),
        _ => true,
    };
    if by_itself {
        return Promise::Facts;
    }
    let waits = word == REQUIRED_VERSION || LOCAL_SOURCE.any_in(rest) || CONSTRAINT.any_in(rest);
    if waits { Promise::Context } else { Promise::Nothing }
}

/// What may be sources of local modules in native syntax, comments included: every string that begins as one does.
/// Absent where only reading the file tells: one is written with escapes or templates, or there are too many.
pub fn local_sources(bytes: &[u8]) -> Option<Vec<&str>> {
    /// Nobody calls so many modules in one file.
    const MAX_SOURCES: usize = 1000;
    let mut sources = Vec::new();
    for at in memchr::memchr_iter(b'"', bytes) {
        let Some(text @ [b'.' | b'\\', ..]) = bytes.get(at + 1..) else { continue };
        let end = memchr::memchr3(b'"', b'\n', b'\\', text).unwrap_or(text.len());
        let source = text.get(..end).and_then(|source| std::str::from_utf8(source).ok());
        match source.filter(|_| text.get(end) != Some(&b'\\') && sources.len() < MAX_SOURCES) {
            Some(source) if !source.contains(['$', '%']) => sources.push(source),
            _ => return None,
        }
    }
    Some(sources)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_by_name() {
        for (path, class) in [
            ("a/main.tf", FileClass::Module),
            ("a/x.tofu.json", FileClass::ModuleJson),
            ("a/.#main.tf", FileClass::Skip),
            ("a/{{cookiecutter.x}}/main.tf", FileClass::Template),
            ("a/terragrunt.hcl", FileClass::Hcl),
            ("a/.terraform.lock.hcl", FileClass::Skip),
            ("a/dev.tfbackend", FileClass::Flat),
            (".terraform-version", FileClass::Pin),
            (".github/workflows/x.yml", FileClass::Yaml),
            ("a/backend.tf.example", FileClass::Template),
            ("Makefile", FileClass::Other),
            ("README.md", FileClass::Skip),
        ] {
            let name = path.rsplit('/').next().unwrap();
            assert_eq!(class_of(path, name), class, "{path}");
        }
    }

    #[test]
    fn ignored_configuration_counts_where_a_program_loads_it() {
        for (name, counts) in [
            ("backend_override.tf", true),
            ("terragrunt.hcl", true),
            ("terragrunt.hcl.json", true),
            ("env.hcl", true),
            ("dev.tfbackend", true),
            (".terraform.lock.hcl", false),
            ("notes.yaml", false),
            ("run.sh", false),
        ] {
            assert_eq!(class_of(name, name).counts_when_ignored(), counts, "{name}");
        }
    }

    #[test]
    fn the_prefilter_passes_what_matters_and_little_else() {
        let matters = |class, bytes: &[u8]| promise(class, bytes) == Promise::Facts;
        assert!(matters(FileClass::Module, b"terraform {\n  backend \"s3\" {}\n}\n"));
        assert!(!matters(FileClass::Module, b"resource \"aws_instance\" \"x\" {\n}\n"));
        assert!(matters(FileClass::ModuleJson, br#"{"terraform":{"\u0062ackend":{}}}"#));
        assert!(matters(FileClass::Other, b"run terraform init"));
        assert!(!matters(FileClass::Other, b"fn main() {}"));
        assert!(!matters(FileClass::Skip, b"backend"));
    }

    #[test]
    fn version_constraints_promise_little_where_they_stand_alone() {
        let constraint = "terraform {\n  required_version = \">= 1.10\"\n}\n";
        let with = |more: &str| promise(FileClass::Module, format!("{constraint}{more}").as_bytes());
        assert_eq!(with("locals {\n  a = 1\n}\n"), Promise::Context);
        assert_eq!(with("module \"x\" {\n  source = \"../x\"\n}\n"), Promise::Context);
        assert_eq!(with("# \"dynamodb:PutItem\""), Promise::Facts);
        assert_eq!(with("# \"DynamoDB:PutItem\""), Promise::Facts);
        assert_eq!(with("# terraform plan -lock=0"), Promise::Facts);
        assert_eq!(promise(FileClass::ModuleJson, constraint.as_bytes()), Promise::Facts);
    }

    #[test]
    fn calls_of_local_modules_promise_little_where_they_stand_alone() {
        let of = |text: &str| promise(FileClass::Module, text.as_bytes());
        let call = |source: &str| format!("module \"x\" {{\n  source = \"{source}\"\n}}\n");
        for source in ["./x", "../../x", r"..\u002fx", r"\u002e/x"] {
            assert_eq!(of(&call(source)), Promise::Context, "{source}");
        }
        assert_eq!(of(&call("hashicorp/consul/aws")), Promise::Nothing);
        assert_eq!(of("locals {\n  a = file(\"./x\")\n}\n"), Promise::Nothing, "nothing is called");
        assert_eq!(of(&(call("./x") + "# lockshift: ignore[no-locking] x\n")), Promise::Facts);
        let json = br#"{"module":{"x":{"source":"../x"}}}"#;
        assert_eq!(promise(FileClass::ModuleJson, json), Promise::Facts);
    }

    #[test]
    fn local_sources_are_found_wherever_they_stand() {
        let text = "source = \"./a\" # \"../b/c\"\n d = \"x/../y\" e = \".hidden\" f = \"../open\n";
        assert_eq!(local_sources(text.as_bytes()), Some(vec!["./a", "../b/c", ".hidden", "../open"]));
        assert_eq!(local_sources(b"a = \"b\""), Some(Vec::new()));
        for text in [
            r#""..\u002fx""#,
            r#""\u002e./x""#,
            r#""../x\"y""#,
            r#""../${"x"}""#,
            r#""../x%{ if a }y%{ endif }""#,
            "\"./\u{e9}\" \"./\\\\x\"",
        ] {
            assert_eq!(local_sources(text.as_bytes()), None, "{text}");
        }
        assert_eq!(local_sources(b"\"./\xff\""), None);
        assert_eq!(local_sources("\"./x\" ".repeat(1001).as_bytes()), None);
        assert_eq!(local_sources("\"./x\" ".repeat(1000).as_bytes()).map(|found| found.len()), Some(1000));
    }
}
