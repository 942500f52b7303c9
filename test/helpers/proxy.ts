import { once } from 'node:events';
import { createConnection, createServer, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';

/**
 * A proxy in front of PostgreSQL or an HTTP server. It simulates a slow network, packet loss and broken connections.
 */
export interface TcpProxy {
  /** The URL of the database or the HTTP server, with the address of the proxy in it. */
  url: string;
  /** Stops forwarding data in both directions. Open connections stay open, and new connections are accepted. */
  silence(): void;
  /** Forwards data again, including the data that arrived while the proxy was silent. */
  resume(): void;
  /** Permanently stops forwarding data on all connections that are open now. New connections work normally. */
  freezeConnections(): void;
  /**
   * Waits until a client sends a message with `text` to the server. Then discards the server's response and breaks the
   * connection.
   */
  loseAnswerTo(text: string): Promise<void>;
  /** Breaks all connections, and rejects new connections until the test calls `restore`. */
  sever(): void;
  restore(): void;
  close(): Promise<void>;
}

/** Starts a proxy. It forwards at most `bitsPerSecond` in each direction, for all connections together. */
export async function startProxy(serverUrl: string, bitsPerSecond = Number.POSITIVE_INFINITY): Promise<TcpProxy> {
  const [toServer, toClient] = [startLine(bitsPerSecond), startLine(bitsPerSecond)];
  const sockets = new Set<Socket>();
  const frozen = new Set<Socket>();
  let isSilent = false;
  let isSevered = false;
  let losing: { text: string; done(): void } | undefined;

  const server = createServer(client => {
    if (isSevered) return client.destroy();
    const upstream = createConnection(addressOf(serverUrl));
    for (const [socket, other, pass] of [
      [client, upstream, toServer],
      [upstream, client, toClient],
    ] as const) {
      sockets.add(socket);
      socket.on('data', data => {
        if (socket === client && losing !== undefined && data.includes(losing.text)) {
          const { done } = losing;
          losing = undefined;
          upstream.removeAllListeners('data').once('data', () => {
            client.destroy();
            done();
          });
        }
        pass(data, part => other.write(part));
      });
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        pass(Buffer.alloc(0), () => other.destroy());
      });
    }
    // If the proxy is silent, pauses the sockets of the new connection again, because adding the 'data' listeners has
    // made the sockets read data.
    if (isSilent) for (const socket of [client, upstream]) socket.pause();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const { port } = server.address() as { port: number };
  return {
    url: urlAt(port, serverUrl),
    silence() {
      isSilent = true;
      for (const socket of sockets) socket.pause();
    },
    resume() {
      isSilent = false;
      for (const socket of sockets) socket.resume();
    },
    freezeConnections() {
      for (const socket of sockets) frozen.add(socket.pause());
      sockets.clear();
    },
    loseAnswerTo(text) {
      return new Promise(done => {
        losing = { text, done };
      });
    },
    sever() {
      isSevered = true;
      for (const socket of sockets) socket.destroy();
    },
    restore() {
      isSevered = false;
    },
    async close() {
      for (const socket of [...sockets, ...frozen]) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/**
 * Returns a function that passes data on at `bitsPerSecond`, in parts that each take ten milliseconds. Passing an empty
 * buffer takes no time of its own, but waits for all earlier data.
 */
function startLine(bitsPerSecond: number) {
  const bytesPerMs = bitsPerSecond / 8000;
  let freeAt = 0;
  // Passes on each part only after the previous part, because several timers can fire in another order than planned.
  let delivered: Promise<unknown> = Promise.resolve();
  return (data: Buffer, deliver: (part: Buffer) => unknown) => {
    if (bytesPerMs === Number.POSITIVE_INFINITY) return deliver(data);
    const partLength = Math.ceil(bytesPerMs * 10);
    for (let start = 0; start === 0 || start < data.length; start += partLength) {
      const part = data.subarray(start, start + partLength);
      freeAt = Math.max(freeAt, performance.now()) + part.length / bytesPerMs;
      const dueAt = freeAt;
      delivered = delivered.then(() => setTimeout(Math.max(0, dueAt - performance.now()))).then(() => deliver(part));
    }
  };
}

function urlAt(port: number, serverUrl: string): string {
  const { protocol, username, password, pathname } = new URL(serverUrl);
  if (protocol === 'http:') return `http://127.0.0.1:${port}`;
  return `postgresql://${username}:${password}@127.0.0.1:${port}${pathname}?sslmode=disable`;
}

/**
 * Returns the address of a server: its Unix socket, or its host and port. The PostgreSQL of the tests listens on a Unix
 * socket.
 */
function addressOf(serverUrl: string) {
  const { protocol, hostname, port } = new URL(serverUrl);
  if (protocol === 'http:') return { host: hostname, port: Number(port) };
  const database = new pg.Client({ connectionString: serverUrl });
  return database.host.startsWith('/')
    ? { path: `${database.host}/.s.PGSQL.${database.port}` }
    : { host: database.host, port: database.port };
}
