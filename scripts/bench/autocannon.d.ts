/** Types for the part of autocannon 9 that the benchmark uses. The package itself has no types. */
declare module 'autocannon' {
  import type { EventEmitter } from 'node:events';

  interface Request {
    method: string;
    path: string;
    headers: Record<string, string>;
    body?: string;
  }

  interface Client {
    setRequests(requests: Request[]): void;
  }

  interface Result {
    /** The number of broken connections and of requests that timed out. */
    errors: number;
  }

  interface Options {
    url: string;
    connections: number;
    duration: number;
    setupClient(client: Client): void;
  }

  interface Run extends EventEmitter, PromiseLike<Result> {}

  export default function autocannon(options: Options): Run;
}
