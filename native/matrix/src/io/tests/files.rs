//! Files as such: sizes, damage, links, pipes, and whole files or none.

use super::*;

#[test]
fn uris_are_local_files_or_those_of_spark() {
    let folder = Folder::new();
    let csv = folder.put("a.csv", "1,2\n");
    for uri in [
        format!("file:{csv}"),
        format!("file://{csv}"),
        format!("FILE:{csv}"),
    ] {
        let matrix = read_matrix(&uri, &of_format(FileFormat::Csv));
        assert_eq!(rows(&matrix), [[1.0, 2.0]], "{uri}");
    }
    let written = folder.path("b.csv");
    let options = WriteOptions::new(FileFormat::Csv);
    let matrix = MatrixBlock::filled(1, 1, 1.0).unwrap();
    write(&matrix, &format!("file://{written}"), &options).unwrap();
    assert_eq!(rows(&read_matrix(&written, &Metadata::default())), [[1.0]]);
    let elsewhere = read("file://host/x", &of_format(FileFormat::Csv)).unwrap_err();
    assert_eq!(elsewhere.kind(), ErrorKind::Argument, "{elsewhere}");
    for uri in ["hdfs://host/x", "hdfs:/x", "s3a://bucket/x", "a+b-c.d:/x"] {
        let refusals = [
            read(uri, &of_format(FileFormat::Csv)).unwrap_err(),
            write(&matrix, uri, &options).unwrap_err(),
            write_scalar("1", "int", uri).unwrap_err(),
        ];
        for refusal in refusals {
            assert_eq!(refusal.kind(), ErrorKind::Unsupported);
            assert!(refusal.message().contains(uri), "{refusal}");
            assert!(refusal.help().unwrap().contains("on Spark"), "{refusal}");
        }
    }
    for name in ["a:b", "1a:/x", ":/x", "a b:/x", "x"] {
        assert!(is_local(name), "{name}");
    }
}

#[test]
fn directories_are_read_part_by_part() {
    let folder = Folder::new();
    folder.put("d/part-1", "x,y\n3,4");
    folder.put("d/part-0", "x,y\n1,2");
    folder.put("d/part-2", "5,6\n");
    folder.put("d/_SUCCESS", "");
    folder.put("d/.part-0.crc", "?");
    let call = Metadata {
        header: Some(true),
        ..of_format(FileFormat::Csv)
    };
    let matrix = read_matrix(&folder.path("d"), &call);
    assert_eq!(rows(&matrix), [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
}

#[test]
fn sizes_are_what_a_file_shows_not_what_is_said_of_it() {
    let folder = Folder::new();
    let read_text = |name: &str, text: &str| read(&folder.put(name, text), &Metadata::default());
    // Coordinates hold what no dense matrix could.
    for (name, text, mtd) in [
        (
            "m",
            "%%MatrixMarket matrix coordinate real general\n1000000000000 1 1\n7 1 2.5\n",
            None,
        ),
        (
            "t",
            "7 1 2.5\n",
            Some(r#"{"format": "text", "rows": 1000000000000000000, "cols": 1}"#),
        ),
        (
            "u",
            "7 9 2.5\n",
            Some(r#"{"format": "text", "rows": 1000000000000000000, "cols": 9}"#),
        ),
    ] {
        if let Some(mtd) = mtd {
            folder.put(&format!("{name}.mtd"), mtd);
        }
        let Contents::Matrix(matrix) = read_text(name, text).unwrap() else {
            panic!("a scalar")
        };
        assert!(matches!(matrix, MatrixBlock::Coordinate(_)), "{name}");
        assert_eq!(matrix.values(), [2.5]);
    }
    let refusal = |format: &str, mtd: &str, text: &str| {
        folder.put("x.mtd", &format!(r#"{{"format": "{format}", {mtd}}}"#));
        let error = read_text("x", text).unwrap_err();
        let message = error.message().rsplit_once("x: ").unwrap().1;
        format!("{}: {message}", error.kind())
    };
    let huge = r#""rows": 1000000000000000000, "cols": 2"#;
    let refusals = [
        refusal("csv", huge, "1,2\n"),
        refusal("libsvm", huge, "1 1:2\n"),
        refusal("csv", r#""rows": 2, "cols": 2, "nnz": 5"#, "1,2\n3,4\n"),
        refusal(
            "text",
            r#""rows": 2, "cols": 1, "nnz": 9000000000000000000"#,
            "1 1 1\n",
        ),
        refusal("csv", r#""rows": 1, "cols": 1000000000000000000"#, "1,2\n"),
        refusal(
            "text",
            r#""rows": 1, "cols": 1000000000000000000"#,
            "1 1 1\n",
        ),
    ];
    insta::assert_snapshot!(refusals.join("\n"));
}

#[test]
fn compressed_text_is_read_by_its_first_bytes() {
    use std::io::Write;

    let folder = Folder::new();
    let packed = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let put = |name: &str, bytes: &[u8]| {
        let path = folder.path(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let csv = put("a.csv.gz", &packed("1,2\n3,4\n"));
    let expected = [[1.0, 2.0], [3.0, 4.0]];
    assert_eq!(rows(&read_matrix(&csv, &Metadata::default())), expected);
    let text = "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 5\n";
    let market = put("m", &packed(text));
    let expected = [[0.0, 5.0], [0.0, 0.0]];
    assert_eq!(rows(&read_matrix(&market, &Metadata::default())), expected);
    let whole = packed("1,2\n3,4\n");
    let cut = put("b.csv.gz", &whole[..whole.len() - 5]);
    let error = read(&cut, &Metadata::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Data);
}

#[test]
fn links_are_followed_and_modes_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let folder = Folder::new();
    let matrix = MatrixBlock::filled(1, 1, 3.0).unwrap();
    let options = WriteOptions::new(FileFormat::Csv);
    fs::create_dir(folder.path("data")).unwrap();
    let target = folder.put("data/x", "1\n");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("data/x", folder.path("link")).unwrap();
    symlink("data/new", folder.path("dangling")).unwrap();
    for name in ["link", "dangling"] {
        write(&matrix, &folder.path(name), &options).unwrap();
        assert!(
            fs::symlink_metadata(folder.path(name))
                .unwrap()
                .is_symlink()
        );
        assert_eq!(
            rows(&read_matrix(&folder.path(name), &Metadata::default())),
            [[3.0]]
        );
    }
    assert_eq!(
        fs::metadata(&target).unwrap().permissions().mode() & 0o777,
        0o640
    );
    assert_eq!(rows(&read_matrix(&target, &Metadata::default())), [[3.0]]);
    assert_eq!(folder.names(), ["dangling", "data", "link"]);
    // Metadata beside a link do not stay behind.
    folder.put("link.mtd", r#"{"format": "text", "rows": 9, "cols": 9}"#);
    write(&matrix, &folder.path("link"), &options).unwrap();
    assert_eq!(
        rows(&read_matrix(&folder.path("link"), &Metadata::default())),
        [[3.0]]
    );
    // Links that lead to each other are an error.
    symlink("b", folder.path("a")).unwrap();
    symlink("a", folder.path("b")).unwrap();
    assert_eq!(
        write(&matrix, &folder.path("a"), &options)
            .unwrap_err()
            .kind(),
        ErrorKind::Io
    );
    // What needs no metadata leaves no former ones.
    write(&matrix, &folder.path("m"), &options).unwrap();
    write(
        &matrix,
        &folder.path("m"),
        &WriteOptions::new(FileFormat::MatrixMarket),
    )
    .unwrap();
    assert!(!Path::new(&folder.path("m.mtd")).exists());
}

#[test]
fn pipes_and_devices_are_read_once_and_written_to_as_they_are() {
    let folder = Folder::new();
    let pipe = folder.path("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()));
    let feed = |text: &'static str| {
        let pipe = pipe.clone();
        std::thread::spawn(move || fs::write(pipe, text).unwrap())
    };
    for (text, call) in [
        ("1,2\n3,4\n", of_format(FileFormat::Csv)),
        (
            "%%MatrixMarket matrix array real general\n2 2\n1\n3\n2\n4\n",
            Metadata::default(),
        ),
    ] {
        assert!(resolve(&pipe, &call).unwrap().rows.is_none());
        let writer = feed(text);
        let Contents::Matrix(matrix) = super::super::read(&pipe, &call, Access::Mapped).unwrap()
        else {
            panic!("a scalar")
        };
        writer.join().unwrap();
        assert_eq!(rows(&matrix), [[1.0, 2.0], [3.0, 4.0]]);
    }
    let matrix = MatrixBlock::filled(2, 1, 3.0).unwrap();
    let options = WriteOptions::new(FileFormat::Csv);
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    write(&matrix, &pipe, &options).unwrap();
    assert_eq!(reader.join().unwrap(), "3.0\n3.0\n");
    write(&matrix, "/dev/null", &options).unwrap();
    write_scalar("x", "string", "/dev/null").unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    assert_eq!(
        write(&matrix, "/dev/full", &options).unwrap_err().kind(),
        ErrorKind::Io
    );
    assert_eq!(folder.names(), ["pipe"]);
}

#[test]
fn what_killed_writers_left_is_deleted_and_blocks_nobody() {
    let folder = Folder::new();
    for name in [
        ".x.17-0.tmp",
        ".x.Ab3dE6.fulgurite.tmp",
        ".foreign.tmp",
        ".x.a-0.tmp",
    ] {
        folder.put(name, "half");
    }
    let busy = folder.put(".y.Zb3dE6.fulgurite.tmp", "somebody writes");
    let busy = fs::File::open(busy).unwrap();
    busy.try_lock().unwrap();
    let now = std::time::SystemTime::now();
    let left = |seconds| {
        let later = now + std::time::Duration::from_secs(seconds);
        super::super::pending::sweep_now(folder.0.path(), later);
        folder.names().join(" ")
    };
    let all = ".foreign.tmp .x.17-0.tmp .x.Ab3dE6.fulgurite.tmp .x.a-0.tmp .y.Zb3dE6.fulgurite.tmp";
    assert_eq!(left(10), all);
    assert_eq!(left(200), ".foreign.tmp .x.a-0.tmp .y.Zb3dE6.fulgurite.tmp");
    let long = folder.path(&"n".repeat(250));
    write(
        &MatrixBlock::filled(1, 1, 3.0).unwrap(),
        &long,
        &WriteOptions::new(FileFormat::Csv),
    )
    .unwrap();
}

#[test]
fn two_writers_leave_the_data_and_metadata_of_one() {
    let folder = Folder::new();
    let path = folder.path("x");
    std::thread::scope(|scope| {
        for rows in 1..=4 {
            let path = &path;
            scope.spawn(move || {
                let matrix = MatrixBlock::filled(rows, 1, rows as f64).unwrap();
                for _ in 0..25 {
                    write(&matrix, path, &WriteOptions::new(FileFormat::Csv)).unwrap();
                }
            });
        }
    });
    // Reading holds the file to its metadata.
    let matrix = read_matrix(&path, &Metadata::default());
    assert_eq!(matrix.get(0, 0), matrix.rows() as f64);
    assert_eq!(folder.names(), ["x", "x.mtd"]);
}

/// Changes of small files that are valid: bits, cuts, digits and pieces that stand elsewhere. Whatever they are, reading gives a matrix
/// or an error that says whose fault it is.
#[test]
fn damaged_files_are_errors() {
    let folder = Folder::new();
    let sparse = DenseMatrix::from_fn(9, 4, |i, j| {
        if (i + j) % 3 == 0 {
            i as f64 - 2.5
        } else {
            0.0
        }
    })
    .unwrap();
    let matrix = MatrixBlock::from(sparse);
    let mut files = Vec::new();
    for format in [
        FileFormat::Csv,
        FileFormat::Text,
        FileFormat::MatrixMarket,
        FileFormat::Libsvm,
        FileFormat::Binary,
    ] {
        let path = folder.path(format.code());
        for matrix in [matrix.clone(), matrix.to_csr().unwrap().into()] {
            write(&matrix, &path, &WriteOptions::new(format)).unwrap();
            let mtd = fs::read(format!("{path}.mtd")).unwrap_or_default();
            files.push((format, fs::read(&path).unwrap(), mtd));
        }
    }
    let mut state = 42u64;
    let mut random = move |below: usize| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as usize % below.max(1)
    };
    let mut damage = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        for _ in 0..=random(3) {
            let at = random(bytes.len());
            match random(5) {
                0 => bytes.truncate(at),
                1 if at < bytes.len() => bytes[at] = b"0123456789-.e\n ,:%"[random(18)],
                2 => {
                    let until = at + random(12).min(bytes.len() - at);
                    let piece = bytes[at..until].to_vec();
                    let to = random(bytes.len());
                    bytes.splice(to..to, piece);
                }
                3 if at < bytes.len() => bytes[at] = [0, 0xff, 0x7f, 0x80][random(4)],
                _ if at < bytes.len() => bytes[at] ^= 1 << random(8),
                _ => {}
            }
        }
        bytes
    };
    let (mut read, mut refused) = (0, 0);
    for round in 0..400 {
        for (format, bytes, mtd) in &files {
            let (mut bytes, mut mtd) = (bytes.clone(), mtd.clone());
            match round % 4 {
                0 => mtd = damage(&mtd),
                _ => bytes = damage(&bytes),
            }
            if *format == FileFormat::Binary {
                let mut file = tempfile::tempfile().unwrap();
                std::io::Write::write_all(&mut file, &bytes).unwrap();
                let mapped = crate::arrow_block::mapped::map_whole(&file);
                let copied = ipc::from_ipc(&bytes);
                match (mapped, copied) {
                    (Ok(Some(mapped)), Ok(copied)) => {
                        assert_eq!(format!("{mapped:?}"), format!("{copied:?}"))
                    }
                    (Ok(None), _) => {}
                    (Err(_), Err(_)) => {}
                    other => panic!("{other:?}"),
                }
            }
            let mtd = String::from_utf8_lossy(&mtd);
            let metadata = (!mtd.is_empty()).then_some(&*mtd);
            match super::super::read_bytes_as(bytes, &"x", metadata, &Metadata::default()) {
                Ok(_) => read += 1,
                Err(error) => {
                    assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(
        read > 100 && refused > 1000,
        "{read} read, {refused} refused"
    );
}

#[test]
fn writing_leaves_whole_files_or_none() {
    let folder = Folder::new();
    let matrix: MatrixBlock = DenseMatrix::new(2, 3, vec![1.0, 0.0, 2.5, -0.0, 1e7, f64::NAN])
        .unwrap()
        .into();
    let options = WriteOptions {
        header: true,
        separator: ";".into(),
        ..WriteOptions::new(FileFormat::Csv)
    };
    let path = folder.path("out.csv");
    write(&matrix, &path, &options).unwrap();
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "C1;C2;C3\n1.0;0;2.5\n0;1.0E7;NaN\n"
    );
    insta::assert_snapshot!(fs::read_to_string(folder.path("out.csv.mtd")).unwrap());
    let sparse = WriteOptions {
        sparse: true,
        ..WriteOptions::new(FileFormat::Csv)
    };
    write(&matrix, &path, &sparse).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "1.0,,2.5\n,1.0E7,NaN\n");
    write_scalar("a\nb", "string", &folder.path("s")).unwrap();
    assert_eq!(
        read(&folder.path("s"), &Metadata::default()).unwrap(),
        Contents::Scalar("a\nb".into())
    );
    let empty = MatrixBlock::filled(2, 2, 0.0).unwrap();
    write(
        &empty,
        &folder.path("z"),
        &WriteOptions::new(FileFormat::Text),
    )
    .unwrap();
    assert_eq!(fs::read_to_string(folder.path("z")).unwrap(), "0 0 0\n");
    assert_eq!(
        rows(&read_matrix(&folder.path("z"), &Metadata::default())),
        rows(&empty)
    );
    write(
        &empty,
        &folder.path("m"),
        &WriteOptions::new(FileFormat::MatrixMarket),
    )
    .unwrap();
    let before = folder.names();
    assert_eq!(
        before,
        ["m", "out.csv", "out.csv.mtd", "s", "s.mtd", "z", "z.mtd"]
    );

    let below_a_file = folder.path("m/folder/x.csv");
    let error = write(&matrix, &below_a_file, &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.message().contains("x.csv"), "{error}");
    // Its metadata cannot be written: the matrix does not appear either.
    fs::create_dir(folder.path("half.csv.mtd")).unwrap();
    let error = write(&matrix, &folder.path("half.csv"), &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    fs::remove_dir(folder.path("half.csv.mtd")).unwrap();
    assert_eq!(folder.names(), before);
    // Folders are made.
    write(&matrix, &folder.path("a/new/x.csv"), &options).unwrap();
    assert!(Path::new(&folder.path("a/new/x.csv")).is_file());
}

#[test]
fn stripes_that_overlap_or_leave_holes_are_errors() {
    let folder = Folder::new();
    let stripe = |row_offset| Block {
        row_offset,
        ..Block::whole(MatrixBlock::filled(2, 3, 1.0).unwrap())
    };
    let path = folder.path("x");
    for (offsets, reason) in [
        ([0, 1], "a stripe of rows begins at row 2, not 3"),
        ([0, 3], "a stripe of rows begins at row 4, not 3"),
        ([1, 3], "a stripe of rows begins at row 2, not 1"),
    ] {
        fs::write(&path, ipc::to_ipc(&offsets.map(stripe)).unwrap()).unwrap();
        let error = read(&path, &of_format(FileFormat::Binary)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Data);
        assert!(error.message().ends_with(reason), "{error}");
    }
    fs::write(&path, ipc::to_ipc(&[2, 0].map(stripe)).unwrap()).unwrap();
    assert_eq!(read_matrix(&path, &of_format(FileFormat::Binary)).rows(), 4);
    let mut two = ipc::to_ipc(&[stripe(0)]).unwrap();
    two.extend(ipc::to_ipc(&[stripe(2)]).unwrap());
    fs::write(&path, two).unwrap();
    let error = read(&path, &of_format(FileFormat::Binary)).unwrap_err();
    assert!(error.message().ends_with("more follows its end"), "{error}");
}

#[test]
fn a_large_matrix_is_written_in_stripes() {
    let folder = Folder::new();
    let path = folder.path("x");
    let cells = DenseMatrix::from_fn(
        3000,
        1000,
        |i, j| if j % 3 == 0 { 0.0 } else { (i * j) as f64 },
    )
    .unwrap();
    let sparse = DenseMatrix::from_fn(3000, 3000, |i, j| {
        if (i + j) % 7 == 0 {
            1.0 + i as f64
        } else {
            0.0
        }
    })
    .unwrap();
    for (matrix, stripes) in [
        (MatrixBlock::from(cells), 3),
        (
            MatrixBlock::Csr(MatrixBlock::from(sparse).to_csr().unwrap()),
            2,
        ),
    ] {
        write(&matrix, &path, &WriteOptions::new(FileFormat::Binary)).unwrap();
        let blocks = ipc::from_ipc(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(blocks.len(), stripes);
        assert_eq!(read_matrix(&path, &Metadata::default()), matrix);
    }
}

#[test]
fn runs_that_are_to_stop_read_and_write_nothing() {
    let folder = Folder::new();
    let matrix = MatrixBlock::filled(3, 2, 1.5).unwrap();
    let interrupt = Interrupt::new();
    interrupt.set();
    for format in [
        FileFormat::Csv,
        FileFormat::Text,
        FileFormat::MatrixMarket,
        FileFormat::Libsvm,
    ] {
        let path = folder.path(&format!("{format:?}"));
        let options = WriteOptions::new(format);
        let stopped = interrupt.within(|| write(&matrix, &path, &options));
        assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Interrupted);
        assert_eq!(folder.names(), Vec::<String>::new(), "{format:?}");
        write(&matrix, &path, &options).unwrap();
        let stopped = interrupt.within(|| read(&path, &Metadata::default()));
        assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Interrupted);
        for name in folder.names() {
            fs::remove_file(folder.path(&name)).unwrap();
        }
    }
}

#[test]
fn blocks_are_not_written_for_runs_that_are_to_stop() {
    let folder = Folder::new();
    let matrix = MatrixBlock::filled(3, 2, 1.5).unwrap();
    let interrupt = Interrupt::new();
    interrupt.set();
    let options = WriteOptions::new(FileFormat::Binary);
    let stopped = interrupt.within(|| write(&matrix, &folder.path("x"), &options));
    assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Interrupted);
    assert_eq!(folder.names(), Vec::<String>::new());
}

#[test]
fn long_files_are_read_in_pieces() {
    let folder = Folder::new();
    let path = folder.path("x");
    for length in [(4 << 20) - 1, 4 << 20, (4 << 20) + 1, 9_999_999] {
        let bytes: Vec<u8> = (0..length).map(|at: u32| (at % 251) as u8).collect();
        fs::write(&path, &bytes).unwrap();
        assert!(read_bytes(Path::new(&path)).unwrap() == bytes, "{length}");
    }
    let interrupt = Interrupt::new();
    interrupt.set();
    let stopped = interrupt.within(|| read_bytes(Path::new(&path)));
    assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Interrupted);
}
