// Snippets that read through the S3 gateway. They name environment variables for the keys, never the keys.

import { s3Uri } from "../format/addresses";
import { pythonString } from "./quoting";
import { type Source, formatOf, isFolder, isUnusualPath, keyOf, looksLikePattern } from "./source";

const KEY = 'os.environ["ANABRANCH_ACCESS_KEY_ID"]';
const SECRET = 'os.environ["ANABRANCH_SECRET_ACCESS_KEY"]';

export function pandas(source: Source): string {
  const format = formatOf(source);
  if (format === "bytes" || (isFolder(source) && isUnusualPath(source))) return "";
  const { host, protocol } = new URL(source.server);
  const place = pythonString(`${source.repository}/${keyOf(source)}`.replace(/\/$/, ""));
  const read = { parquet: "pd.read_parquet(file)", csv: "pd.read_csv(file)", jsonl: "pd.read_json(file, lines=True)" }[format];
  if (isUnusualPath(source)) return fromBytes(source, ["import pandas as pd"], `frame = ${read.replace("file", "content")}`);
  const reading =
    format === "parquet"
      ? [`frame = pd.read_parquet(${place}, filesystem=lake)`]
      : [`with lake.open_input_stream(${place}) as file:`, `    frame = ${read}`];
  return lines(
    "# pip install pandas pyarrow",
    "import os",
    "",
    "import pandas as pd",
    "from pyarrow.fs import S3FileSystem",
    "",
    "lake = S3FileSystem(",
    `    endpoint_override=${pythonString(host)},`,
    `    scheme=${pythonString(protocol.replace(":", ""))},`,
    '    region="us-east-1",',
    `    access_key=${KEY},`,
    `    secret_key=${SECRET},`,
    ")",
    ...reading,
    "print(frame)",
  );
}

export function polars(source: Source): string {
  const format = formatOf(source);
  if (format === "bytes" || (isFolder(source) && (isUnusualPath(source) || looksLikePattern(source)))) return "";
  const read = { parquet: "read_parquet", csv: "read_csv", jsonl: "read_ndjson" }[format];
  if (isUnusualPath(source) || format === "jsonl") return fromBytes(source, ["import polars as pl"], `frame = pl.${read}(content)`);
  const pattern = isFolder(source) ? "" : ", glob=False";
  return lines(
    "# pip install polars",
    "import os",
    "",
    "import polars as pl",
    "",
    "lake = {",
    `    "aws_endpoint_url": ${pythonString(source.server)},`,
    ...(source.server.startsWith("http:") ? ['    "aws_allow_http": "true",'] : []),
    '    "aws_region": "us-east-1",',
    `    "aws_access_key_id": ${KEY},`,
    `    "aws_secret_access_key": ${SECRET},`,
    "}",
    `query = pl.${read.replace("read", "scan")}(${s3Place(source)}, storage_options=lake${pattern})`,
    "frame = query.collect()",
    "print(frame)",
  );
}

export function duckdb(source: Source): string {
  const format = formatOf(source);
  const hasDots = /(?:^|\/)\.\.?(?:\/|$)/.test(source.path);
  if (format === "bytes" || (isFolder(source) && (hasDots || looksLikePattern(source)))) return "";
  if (hasDots) {
    if (format !== "parquet") return "";
    const reading = "rows = duckdb.from_arrow(pq.read_table(content))";
    return fromBytes(source, ["import duckdb", "import pyarrow.parquet as pq"], reading);
  }
  const { host, protocol } = new URL(source.server);
  const read = { parquet: "read_parquet", csv: "read_csv", jsonl: "read_json" }[format];
  return lines(
    "# pip install duckdb",
    "import os",
    "",
    "import duckdb",
    "",
    "lake = duckdb.connect()",
    "lake.execute(",
    '    "CREATE SECRET (TYPE s3, ENDPOINT ?, KEY_ID ?, SECRET ?, REGION \'us-east-1\',"',
    `    " URL_STYLE 'path', USE_SSL ${protocol === "https:"})",`,
    `    [${pythonString(host)}, ${KEY}, ${SECRET}],`,
    ")",
    ...(isFolder(source) ? [] : ['lake.execute("SET s3_url_compatibility_mode = true")  # the path is no pattern']),
    `rows = lake.${read}(${s3Place(source, isFolder(source) ? "**/*.parquet" : "")})`,
    "rows.show()",
  );
}

export function spark(source: Source): string {
  const format = formatOf(source);
  // Hadoop takes what is before a colon for a scheme
  if (format === "bytes" || isUnusualPath(source) || keyOf(source).includes(":")) return "";
  const read = { parquet: "parquet", csv: 'option("header", True).csv', jsonl: "json" }[format];
  // Hadoop takes these for a pattern
  const escaped = { ...source, path: source.path.replace(/[?*[\]{}\\]/g, "\\$&") };
  return lines(
    "# pip install 'anabranch[spark]'",
    "import os",
    "",
    "import anabranch.spark",
    "from pyspark.sql import SparkSession",
    "",
    'builder = SparkSession.builder.appName("lake")',
    `keys = (${KEY}, ${SECRET})`,
    `anabranch.spark.configure(builder, ${pythonString(source.server)}, keys)`,
    "spark = builder.getOrCreate()",
    `frame = spark.read.${read}(${s3Place(escaped).replace('"s3:', '"s3a:')})`,
    "frame.show()",
  );
}

export function boto3(source: Source): string {
  const reading = isFolder(source)
    ? [
        'pages = s3.get_paginator("list_objects_v2").paginate(',
        `    Bucket=${pythonString(source.repository)}, Prefix=${pythonString(keyOf(source))}`,
        ")",
        'keys = [item["Key"] for page in pages for item in page.get("Contents", [])]',
        "print(keys)",
      ]
    : [...getObject(source), "print(len(content))"];
  return lines("# pip install boto3", "import os", "", ...client(source), ...reading);
}

/** Returns a snippet that reads the content by boto3, which sends every key as it is. */
function fromBytes(source: Source, imports: string[], ...reading: string[]): string {
  const get = getObject(source).map((line) => line.replace("content = ", "body = "));
  return lines(
    "import io",
    "import os",
    "",
    ...client(source, imports),
    ...get,
    "content = io.BytesIO(body)",
    ...reading,
    reading.some((line) => line.startsWith("rows")) ? "rows.show()" : "print(frame)",
  );
}

function client({ server }: Source, imports: string[] = []): string[] {
  return [
    "import boto3",
    "from botocore.config import Config",
    ...imports,
    "",
    "s3 = boto3.client(",
    '    "s3",',
    `    endpoint_url=${pythonString(server)},`,
    '    region_name="us-east-1",',
    `    aws_access_key_id=${KEY},`,
    `    aws_secret_access_key=${SECRET},`,
    '    config=Config(s3={"addressing_style": "path"}),',
    ")",
  ];
}

function getObject(source: Source): string[] {
  return [
    "response = s3.get_object(",
    `    Bucket=${pythonString(source.repository)}, Key=${pythonString(keyOf(source))}`,
    ")",
    'content = response["Body"].read()',
  ];
}

function s3Place(source: Source, pattern = ""): string {
  return pythonString(s3Uri(source.repository, source.ref, source.path) + pattern);
}

function lines(...all: string[]): string {
  return `${all.join("\n")}\n`;
}
