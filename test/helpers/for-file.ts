import { afterAll } from 'vitest';

/**
 * Closes a resource after the last test of the file. If a file has several resources, the resource that was opened last
 * closes first.
 */
export function closeAfterAll<Resource extends { close(): Promise<unknown> }>(resource: Resource): Resource {
  afterAll(() => resource.close());
  return resource;
}
