import type { Queryable } from '../../database/database.ts';
import { oldestSupported, selectServer } from '../../database/server-version.ts';
import { array, boolean, sql, text } from '../../database/sql.ts';
import { error, type Finding, ok } from './finding.ts';

const extensions = ['unaccent', 'btree_gin', 'pg_trgm'];

export async function diagnosePostgres(db: Queryable): Promise<Finding[]> {
  const rows = await db.query(selectServer, {});
  const [{ version, major, encoding } = { version: 'unknown', major: 0, encoding: 'unknown' }] = rows;
  return [
    major >= oldestSupported
      ? ok(`PostgreSQL ${version} is new enough`)
      : error(`PostgreSQL ${version} is too old`, `Move the database to PostgreSQL ${oldestSupported} or newer`),
    encoding === 'UTF8'
      ? ok('The database is encoded in UTF8')
      : error(
          `The database is encoded in ${encoding}, which cannot hold every character`,
          "Move the data to a new database: create database ... encoding 'UTF8' template template0",
        ),
  ];
}

const selectExtensions = sql(
  'select_postgres_extensions',
  {
    arguments: { names: array(text()) },
    row: { name: text(), is_installed: boolean(), is_available: boolean(), is_creatable: boolean() },
  },
  `select wanted.name, installed.extname is not null as is_installed, version.name is not null as is_available,
    coalesce(
      (select rolsuper from pg_roles where rolname = current_user)
        or (not version.superuser or version.trusted) and has_database_privilege(current_database(), 'create'),
      false
    ) as is_creatable
  from unnest($names::text[]) wanted(name)
  left join pg_extension installed on installed.extname = wanted.name
  left join pg_available_extensions available on available.name = wanted.name
  left join pg_available_extension_versions version
    on version.name = available.name and version.version = available.default_version`,
);

export async function diagnosePostgresExtensions(db: Queryable, isMigrated: boolean): Promise<Finding[]> {
  const rows = await db.query(selectExtensions, { names: extensions });
  return rows.map(({ name, is_installed, is_available, is_creatable }) => {
    const create = `create extension ${name}`;
    if (is_installed) return ok(`The extension ${name} is installed`);
    if (!is_available) {
      return error(
        `PostgreSQL has no extension ${name}`,
        "Install PostgreSQL's contrib package on the database machine",
      );
    }
    if (!is_creatable) {
      return error(
        `The extension ${name} is missing, and the user is not allowed to create it`,
        `As a superuser, in this database: ${create}`,
      );
    }
    return isMigrated
      ? error(`The extension ${name} is missing`, `Run: ${create}`)
      : ok(`migrate can create the extension ${name}`);
  });
}
