import { afterAll } from 'vitest';

/** Closes a resource of a test file after its last test. Resources close in the reverse order. */
export function closeAfterAll<Resource extends { close(): Promise<unknown> }>(resource: Resource): Resource {
  afterAll(() => resource.close());
  return resource;
}

/** Drops the database of a test file after its last test. */
export function dropAfterAll<Database extends { drop(): Promise<unknown> }>(database: Database): Database {
  afterAll(() => database.drop());
  return database;
}
