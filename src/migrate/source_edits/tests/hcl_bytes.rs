//! Exact bytes before and after in HCL bodies and objects, one test a behaviour.

use super::*;

#[test]
fn block_with_columns_and_comments() {
    expect(
        "terraform {\n  backend \"s3\" {             # where\n    bucket         = \"b\"     # the bucket\n    dynamodb_table = \"locks\" # the table\n    encrypt        = true    # yes\n  }\n}\n",
        backend,
        "terraform {\n  backend \"s3\" {             # where\n    bucket         = \"b\"     # the bucket\n    dynamodb_table = \"locks\" # the table\n    use_lockfile   = true\n    encrypt        = true # yes\n  }\n}\n",
        "terraform {\n  backend \"s3\" {       # where\n    bucket       = \"b\" # the bucket\n    use_lockfile = true\n    encrypt      = true # yes\n  }\n}\n",
    );
}

#[test]
fn columns_that_were_not_kept_are_left() {
    expect(
        "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    dynamodb_table = \"locks\"\n    key=\"k\"\n  }\n}\n",
        backend,
        "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    dynamodb_table = \"locks\"\n    use_lockfile = true\n    key=\"k\"\n  }\n}\n",
        "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    use_lockfile = true\n    key=\"k\"\n  }\n}\n",
    );
}

#[test]
fn a_wider_column_of_its_own_is_kept() {
    expect(
        "bucket              = \"b\"\ndynamodb_table      = \"locks\"\n",
        flat,
        "bucket              = \"b\"\ndynamodb_table      = \"locks\"\nuse_lockfile        = true\n",
        "bucket              = \"b\"\nuse_lockfile        = true\n",
    );
}

#[test]
fn crlf_tabs_and_bom_are_kept() {
    expect(
        "\u{feff}bucket = \"b\"\r\n\r\n\tdynamodb_table = \"t\" // x\r\n",
        flat,
        "\u{feff}bucket = \"b\"\r\n\r\n\tdynamodb_table = \"t\" // x\r\n\tuse_lockfile   = true\r\n",
        "\u{feff}bucket = \"b\"\r\n\r\n\tuse_lockfile = true\r\n",
    );
}

#[test]
fn a_missing_last_line_feed_stays_missing() {
    expect(
        "bucket         = \"b\"\ndynamodb_table = \"t\" # x",
        flat,
        "bucket         = \"b\"\ndynamodb_table = \"t\" # x\nuse_lockfile   = true",
        "bucket       = \"b\"\nuse_lockfile = true",
    );
    let text = "bucket         = \"b\"\r\ndynamodb_table = \"t\"";
    assert_eq!(try_change(text, &flat(text), &last()).unwrap(), "bucket = \"b\"");
    let text = "\u{feff}dynamodb_table = \"t\"";
    assert_eq!(try_change(text, &flat(text), &last()).unwrap(), "\u{feff}");
}

#[test]
fn a_one_line_block_is_opened() {
    let text = "terraform {\n  backend \"s3\" { dynamodb_table = \"t\" }\n}\n";
    let read = |text: &str| backend(text);
    let in_dual = try_change(text, &read(text), &dual()).unwrap();
    assert_eq!(in_dual, format!("{HEAD}    dynamodb_table = \"t\"\n    use_lockfile   = true\n  }}\n}}\n"));
    assert_eq!(try_change(&in_dual, &read(&in_dual), &dual()).unwrap(), in_dual);
    let at_last = format!("{HEAD}    use_lockfile = true\n  }}\n}}\n");
    assert_eq!(try_change(&in_dual, &read(&in_dual), &last()).unwrap(), at_last);
    assert_eq!(try_change(text, &read(text), &both()).unwrap(), at_last);
    assert_eq!(try_change(text, &read(text), &last()).unwrap(), "terraform {\n  backend \"s3\" {}\n}\n");
}

#[test]
fn an_empty_block_is_opened_and_closed_again() {
    for (empty, full) in [
        ("{}", "{\n    use_lockfile = true\n  }"),
        ("{ /* see x */ }", "{\n    /* see x */\n    use_lockfile = true\n  }"),
        ("{ # see x\n  }", "{ # see x\n    use_lockfile = true\n  }"),
    ] {
        let text = format!("terraform {{\n  backend \"s3\" {empty}\n}}\n");
        let in_dual = try_change(&text, &backend(&text), &dual()).unwrap();
        assert_eq!(in_dual, format!("terraform {{\n  backend \"s3\" {full}\n}}\n"));
    }
    let text = "\tbackend \"s3\" {}\r\n";
    let (sources, _) = hcl::backends_in_region(
        "x.sh",
        Text::new(text.as_bytes()),
        Span::new(0, text.len()),
        SourceKind::Heredoc,
    );
    let opened = try_change(text, &sources[0], &dual()).unwrap();
    assert_eq!(opened, "\tbackend \"s3\" {\r\n\t\tuse_lockfile = true\r\n\t}\r\n");
    let (sources, _) = hcl::backends_in_region(
        "x.sh",
        Text::new(opened.as_bytes()),
        Span::new(0, opened.len()),
        SourceKind::Heredoc,
    );
    assert_eq!(try_change(&opened, &sources[0], &rollback()).unwrap(), text);
}

#[test]
fn what_stands_is_replaced_or_left() {
    for (stands, becomes) in [
        ("false", "true"),
        ("null", "true"),
        ("\"\"", "true"),
        ("\"true\"", "\"true\""),
        ("\"1\"", "\"1\""),
        ("true", "true"),
    ] {
        let text =
            |value| format!("{HEAD}    dynamodb_table = \"t\"\n    use_lockfile   = {value} # x\n  }}\n}}\n");
        let before = text(stands);
        assert_eq!(try_change(&before, &backend(&before), &dual()).unwrap(), text(becomes));
    }
    let text = format!("{HEAD}    use_lockfile = var.x\n  }}\n}}\n");
    let refused = try_change(&text, &backend(&text), &dual());
    assert_eq!(refused, Err(Refusal::UnknownValue { name: "use_lockfile".into() }));
}

#[test]
fn replacing_a_value_moves_the_comments_of_its_chain() {
    let text = "a            = 1     # x\nuse_lockfile = false # y\n";
    assert_eq!(
        try_change(text, &flat(text), &dual()).unwrap(),
        "a            = 1    # x\nuse_lockfile = true # y\n"
    );
}

#[test]
fn a_value_of_several_lines_stays_whole() {
    expect(
        "bucket = \"b\"\ndynamodb_table = <<EOT\nuse_lockfile = # no\n  }\nEOT\nkey = \"k\"\n",
        flat,
        "bucket = \"b\"\ndynamodb_table = <<EOT\nuse_lockfile = # no\n  }\nEOT\nuse_lockfile = true\nkey = \"k\"\n",
        "bucket = \"b\"\nuse_lockfile = true\nkey = \"k\"\n",
    );
    expect(
        "bucket = \"b\"\ndynamodb_table = join(\"-\", [\n  \"a\",\n])\nkey = \"k\"\n",
        flat,
        "bucket = \"b\"\ndynamodb_table = join(\"-\", [\n  \"a\",\n])\nuse_lockfile = true\nkey          = \"k\"\n",
        "bucket       = \"b\"\nuse_lockfile = true\nkey          = \"k\"\n",
    );
}

#[test]
fn comments_about_the_table_go_and_others_stay() {
    let cases = [
        ("  # the DynamoDB table\n", ""),
        ("  # bucket and key\n  # Lock table for all teams\n", "  # bucket and key\n"),
        ("  # made by ops\n", "  # made by ops\n"),
        ("  # dynamodb, far away\n\n", "  # dynamodb, far away\n\n"),
        ("# dynamodb, other indentation\n", "# dynamodb, other indentation\n"),
        (
            "  # The state lives in s3 and\n  # the dynamodb table\n",
            "  # The state lives in s3 and\n  # the dynamodb table\n",
        ),
        ("  # The old name of the lock table, so that\n  # nothing breaks\n", ""),
        ("  # Which bucket\n  # dynamodb_table = \"old\"\n", "  # Which bucket\n"),
        ("  /* dynamodb */\n", ""),
        ("  // dynamodb_table = \"old\"\n", ""),
    ];
    for (above, left) in cases {
        let text = format!("  key = 1\n{above}  dynamodb_table = \"t\" # gone\n  region = 2\n");
        let (_, at_last) = (0, try_change(&text, &flat(&text), &last()).unwrap());
        let (left, right) = (format!("  key = 1\n{left}  region = 2\n"), at_last);
        // Chains are joined where the comment between them went.
        assert_eq!(right.replace("key    =", "key ="), left);
    }
}

#[test]
fn a_comment_about_locking_stays_while_something_locks() {
    let text = "  # State locking\n  dynamodb_table = \"t\"\n";
    assert_eq!(try_change(text, &flat(text), &both()).unwrap(), "  # State locking\n  use_lockfile = true\n");
    let (_, at_last) = all_ways(text, flat);
    assert_eq!(at_last, "  # State locking\n  use_lockfile = true\n");
    let text = "  a = 1\n  # State locking\n  dynamodb_table = \"t\"\n";
    assert_eq!(try_change(text, &flat(text), &last()).unwrap(), "  a = 1\n");
}

#[test]
fn no_blank_line_is_left_too_many() {
    let block = |inner: &str| format!("{HEAD}{inner}  }}\n}}\n");
    let table = "    dynamodb_table = \"t\"\n";
    for (before, after) in [
        (format!("    a = 1\n\n{table}\n    b = 2\n"), "    a = 1\n\n    b = 2\n"),
        (format!("{table}\n    b = 2\n"), "    b = 2\n"),
        (format!("    a = 1\n\n{table}"), "    a = 1\n"),
        (format!("    a = 1\n\n{table}    b = 2\n"), "    a = 1\n\n    b = 2\n"),
    ] {
        let text = block(&before);
        assert_eq!(try_change(&text, &backend(&text), &last()).unwrap(), block(after));
    }
    let text = "dynamodb_table = \"t\"\n\nb = 2\n";
    assert_eq!(try_change(text, &flat(text), &last()).unwrap(), "b = 2\n");
    let text = "b = 2\n\ndynamodb_table = \"t\"\n";
    assert_eq!(try_change(text, &flat(text), &last()).unwrap(), "b = 2\n");
}

#[test]
fn nested_endpoints_go_alone_or_with_their_object() {
    let one = |inner: &str| format!("{HEAD}    bucket    = \"b\"\n    endpoints = {inner}\n  }}\n}}\n");
    let gone = format!("{HEAD}    bucket = \"b\"\n  }}\n}}\n");
    for (before, after) in [
        ("{ s3 = \"x\", dynamodb = \"y\" }", one("{ s3 = \"x\" }")),
        ("{ dynamodb = \"y\", s3 = \"x\" }", one("{ s3 = \"x\" }")),
        ("{\n      s3       = \"x\"\n      dynamodb = \"y\"\n    }", one("{\n      s3 = \"x\"\n    }")),
        (
            "{\n      \"s3\" : \"x\",\n      \"dynamodb\" : \"y\"\n    }",
            one("{\n      \"s3\" : \"x\"\n    }"),
        ),
        ("{ dynamodb = \"y\" }", gone.clone()),
    ] {
        let text = one(before);
        assert_eq!(try_change(&text, &backend(&text), &last()).unwrap(), after);
    }
    let text = format!(
        "{HEAD}    bucket = \"b\"\n    endpoints = {{\n      dynamodb = \"y\" # z\n    }}\n  }}\n}}\n"
    );
    assert_eq!(try_change(&text, &backend(&text), &last()).unwrap(), gone);
}

#[test]
fn a_name_that_stands_twice_goes_twice() {
    let text = "dynamodb_table = \"t\"\nkey = 1\ndynamodb_table = \"u\"\n";
    assert_eq!(try_change(text, &flat(text), &last()).unwrap(), "key = 1\n");
}

#[test]
fn terragrunt_objects() {
    expect(
        "remote_state {\n  config = {\n    bucket         = \"b\"\n    dynamodb_table = \"t\"\n  }\n}\n",
        terragrunt,
        "remote_state {\n  config = {\n    bucket         = \"b\"\n    dynamodb_table = \"t\"\n    use_lockfile   = true\n  }\n}\n",
        "remote_state {\n  config = {\n    bucket       = \"b\"\n    use_lockfile = true\n  }\n}\n",
    );
    expect(
        "config = {\n  \"bucket\"         : \"b\", # x\n  \"dynamodb_table\" : \"t\"  # y\n}\n",
        terragrunt,
        "config = {\n  \"bucket\"         : \"b\", # x\n  \"dynamodb_table\" : \"t\", # y\n  \"use_lockfile\"   : true\n}\n",
        "config = {\n  \"bucket\"         : \"b\", # x\n  \"use_lockfile\"   : true\n}\n",
    );
    expect(
        "config = {\n  dynamodb_table = \"t\",\n  key = \"k\",\n}\n",
        terragrunt,
        "config = {\n  dynamodb_table = \"t\",\n  use_lockfile = true,\n  key = \"k\",\n}\n",
        "config = {\n  use_lockfile = true,\n  key = \"k\",\n}\n",
    );
    expect(
        "config = { bucket = \"b\", dynamodb_table = \"t\" }\n",
        terragrunt,
        "config = { bucket = \"b\", dynamodb_table = \"t\", use_lockfile = true }\n",
        "config = { bucket = \"b\", use_lockfile = true }\n",
    );
    expect(
        "config = { dynamodb_table = \"t\" }\n",
        terragrunt,
        "config = { dynamodb_table = \"t\", use_lockfile = true }\n",
        "config = { use_lockfile = true }\n",
    );
    expect(
        "config = { a = 1\n  dynamodb_table = \"t\" }\n",
        terragrunt,
        "config = { a = 1\n  dynamodb_table = \"t\", use_lockfile = true }\n",
        "config = { a = 1\n  use_lockfile = true }\n",
    );
    expect(
        "config = {}\n",
        terragrunt,
        "config = {\n  use_lockfile = true\n}\n",
        "config = {\n  use_lockfile = true\n}\n",
    );
}
