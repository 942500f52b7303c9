import { afterAll } from 'vitest';

/** Closes a resource of a test file after its last test. Resources close in the reverse order. */
export function closeAfterAll<Resource extends { close(): Promise<unknown> }>(resource: Resource): Resource {
  afterAll(() => resource.close());
  return resource;
}
