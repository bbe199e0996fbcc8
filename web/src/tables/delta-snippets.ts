// Snippets that read a table of Delta Lake. They are the empty string where the program does not find the folder.

import { s3Uri } from "../format/addresses";
import { pythonString } from "../snippets/quoting";
import { KEY, SECRET, type TableSource, lines } from "./source";

/** Writers of snippets by program. */
export const DELTA_SNIPPETS = { deltalake, polars, spark };

function deltalake(source: TableSource): string {
  if (source.path.includes("%")) return ""; // it decodes them twice
  return lines(
    "# pip install deltalake pyarrow",
    "import os",
    "",
    "from deltalake import DeltaTable",
    "",
    ...storageOptions(source),
    `table = DeltaTable(${pythonString(deltaUri(source))}, storage_options=lake)`,
    "print(table.to_pyarrow_table())",
  );
}

function polars(source: TableSource): string {
  if (deltaUri(source) !== s3Folder(source)) return ""; // it decodes no names
  return lines(
    "# pip install polars deltalake",
    "import os",
    "",
    "import polars as pl",
    "",
    ...storageOptions(source),
    `print(pl.scan_delta(${pythonString(deltaUri(source))}, storage_options=lake).collect())`,
  );
}

function spark(source: TableSource): string {
  if (source.path.includes(":")) return ""; // Hadoop takes what is before a colon for a scheme
  const uri = s3Folder(source).replace(/^s3:/u, "s3a:");
  return lines(
    "# pip install 'anabranch[spark]'",
    "import os",
    "",
    "import anabranch.spark",
    "from pyspark.sql import SparkSession",
    "",
    'builder = SparkSession.builder.appName("lake")',
    'builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")',
    "builder.config(",
    '    "spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"',
    ")",
    `keys = (${KEY}, ${SECRET})`,
    'delta = ["io.delta:delta-spark_4.1_2.13:4.4.0"]',
    `anabranch.spark.configure(builder, ${pythonString(source.server)}, keys, packages=delta)`,
    "spark = builder.getOrCreate()",
    `spark.read.format("delta").load(${pythonString(uri)}).show()`,
  );
}

function storageOptions({ server }: TableSource): string[] {
  return [
    "lake = {",
    `    "aws_endpoint_url": ${pythonString(server)},`,
    ...(server.startsWith("http:") ? ['    "aws_allow_http": "true",'] : []),
    '    "aws_region": "us-east-1",',
    `    "aws_access_key_id": ${KEY},`,
    `    "aws_secret_access_key": ${SECRET},`,
    "}",
  ];
}

/** Returns the address of a Delta table as delta-rs reads it: a URL, in which names are encoded. */
function deltaUri(source: TableSource): string {
  return encodeURI(s3Folder(source)).replace(/[?#]/gu, encodeURIComponent);
}

function s3Folder(source: TableSource): string {
  return s3Uri(source.repository, source.ref, folderOf(source));
}

function folderOf({ path }: TableSource): string {
  return path.replace(/\/$/u, "");
}
