import { subscribe } from 'node:diagnostics_channel';

interface Exchange {
  request: object;
}

const timesMs: number[] = [];

/** Calls for a child process that runs a server. Other processes measure the server times with them. */
export const serverTimeCalls = {
  /** Begins to measure the server time of each request: from its arrival until the server has sent the answer. */
  observe: () => {
    const starts = new WeakMap<object, number>();
    subscribe('http.server.request.start', message => starts.set((message as Exchange).request, performance.now()));
    subscribe('http.server.response.finish', message => {
      timesMs.push(performance.now() - (starts.get((message as Exchange).request) ?? 0));
    });
  },
  /** Returns the server times that were measured since the last call of this function, in the order of the answers. */
  serverTimesMs: () => timesMs.splice(0),
};
