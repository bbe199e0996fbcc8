// Snippets that read a table of the Iceberg catalog.

import { pythonString } from "../snippets/quoting";
import { type Identifier, identifierOf } from "./names";
import { KEY, SECRET, type TableSource, lines } from "./source";

/** Writers of snippets by program. They return the empty string for a table that the program cannot read, as one
 * in a folder. */
export const ICEBERG_SNIPPETS = {
  pyiceberg: ofCatalog(pyiceberg),
  duckdb: ofCatalog(duckdb),
  polars: ofCatalog(polars),
  spark: ofCatalog(spark),
  trino: ofCatalog(trino),
};

/** Returns a writer that has no snippet for tables that are not of the catalog. */
function ofCatalog(write: (source: TableSource, name: Identifier) => string): (source: TableSource) => string {
  return (source) => {
    const name = identifierOf(source.path);
    return name ? write(source, name) : "";
  };
}

function pyiceberg(source: TableSource, name: Identifier): string {
  return lines(
    "# pip install 'pyiceberg[pyarrow]'",
    ...loadTable(source, name),
    "print(table.scan().to_arrow())",
  );
}

function polars(source: TableSource, name: Identifier): string {
  return lines(
    "# pip install polars 'pyiceberg[pyarrow]'",
    ...loadTable(source, name, "import polars as pl"),
    "print(pl.from_arrow(table.scan().to_arrow()))",
  );
}

function loadTable(source: TableSource, name: Identifier, ...imports: string[]): string[] {
  const { uri, tokens, warehouse } = placesOf(source);
  return [
    "import os",
    "",
    ...imports,
    "from pyiceberg.catalog import load_catalog",
    "",
    "catalog = load_catalog(",
    '    "lake",',
    '    type="rest",',
    `    uri=${pythonString(uri)},`,
    `    warehouse=${pythonString(warehouse)},`,
    `    credential=":".join((${KEY}, ${SECRET})),`,
    `    **{"oauth2-server-uri": ${pythonString(tokens)}},`,
    ")",
    `table = catalog.load_table((${name.map(pythonString).join(", ")}))`,
  ];
}

function duckdb(source: TableSource, name: Identifier): string {
  if (name.length !== 2 || name[0]!.includes(".")) return ""; // it knows no nested namespaces
  const { uri, tokens, warehouse } = placesOf(source);
  const options = `TYPE iceberg, SECRET lake, ENDPOINT ${sqlText(uri)}`;
  return lines(
    "# pip install duckdb",
    "import os",
    "",
    "import duckdb",
    "",
    "lake = duckdb.connect()",
    'for extension in ("httpfs", "avro", "iceberg"):',
    "    lake.install_extension(extension)",
    "    lake.load_extension(extension)",
    "lake.execute(",
    '    "CREATE SECRET lake (TYPE iceberg, CLIENT_ID ?, CLIENT_SECRET ?, OAUTH2_SERVER_URI ?)",',
    `    [${KEY}, ${SECRET}, ${pythonString(tokens)}],`,
    ")",
    `lake.execute(${pythonString(`ATTACH ${sqlText(warehouse)} AS lake (${options})`)})`,
    `lake.sql(${pythonString(`FROM lake.${name.map((part) => quoted(part, '"')).join(".")}`)}).show()`,
  );
}

function spark(source: TableSource, name: Identifier): string {
  const { uri, tokens, warehouse } = placesOf(source);
  const settings: readonly [string, string][] = [
    [".type", pythonString("rest")],
    [".uri", pythonString(uri)],
    [".warehouse", pythonString(warehouse)],
    [".credential", `":".join((${KEY}, ${SECRET}))`],
    [".oauth2-server-uri", pythonString(tokens)],
    [".header.X-Iceberg-Access-Delegation", pythonString("vended-credentials")],
  ];
  return lines(
    "# pip install pyspark",
    "import os",
    "",
    "from pyspark.sql import SparkSession",
    "",
    'builder = SparkSession.builder.appName("lake").config(',
    '    "spark.jars.packages",',
    '    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0,"',
    '    "org.apache.iceberg:iceberg-aws-bundle:1.12.0",',
    ")",
    'builder.config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")',
    ...settings.map(([setting, value]) => `builder.config("spark.sql.catalog.lake${setting}", ${value})`),
    "spark = builder.getOrCreate()",
    `spark.table(${pythonString(`lake.${name.map((part) => quoted(part, "`")).join(".")}`)}).show()`,
  );
}

function trino(source: TableSource, name: Identifier): string {
  const { uri, tokens, warehouse } = placesOf(source);
  const nested = name.length > 2 ? ["iceberg.rest-catalog.nested-namespace-enabled=true"] : [];
  const schema = quoted(name.slice(0, -1).join("."), '"');
  const table = quoted(name.at(-1)!, '"');
  if (/[\r\n]/u.test(`${schema}${table}`)) return ""; // a comment ends with its line
  return lines(
    "# etc/catalog/lake.properties; then: SELECT * FROM",
    `# lake.${schema}.${table} LIMIT 100`,
    "connector.name=iceberg",
    "iceberg.catalog.type=rest",
    `iceberg.rest-catalog.uri=${uri}`,
    `iceberg.rest-catalog.warehouse=${warehouse.replaceAll("\\", "\\\\")}`,
    "iceberg.rest-catalog.security=OAUTH2",
    "iceberg.rest-catalog.oauth2.credential=${ENV:ANABRANCH_ACCESS_KEY_ID}:${ENV:ANABRANCH_SECRET_ACCESS_KEY}",
    `iceberg.rest-catalog.oauth2.server-uri=${tokens}`,
    "iceberg.rest-catalog.vended-credentials-enabled=true",
    ...nested,
    "fs.native-s3.enabled=true",
    `s3.endpoint=${source.server}`,
    "s3.region=us-east-1",
    "s3.path-style-access=true",
  );
}

function placesOf({ server, repository, ref }: TableSource): { uri: string; tokens: string; warehouse: string } {
  const uri = `${server}/iceberg`;
  return { uri, tokens: `${uri}/v1/oauth/tokens`, warehouse: `lakefs://${repository}/${ref}` };
}

function sqlText(text: string): string {
  return quoted(text, "'");
}

function quoted(name: string, quote: string): string {
  return `${quote}${name.replaceAll(quote, quote + quote)}${quote}`;
}
