import { once } from 'node:events';
import { createConnection, createServer, type Socket } from 'node:net';
import pg from 'pg';

/** A proxy in front of PostgreSQL that simulates packet loss and broken connections. */
export interface DatabaseProxy {
  /** The URL of the database with the proxy in place of PostgreSQL. */
  url: string;
  /** Stops forwarding data in both directions. Open connections stay open, and new connections are accepted. */
  silence(): void;
  /** Forwards data again, including the data that arrived during the silence. */
  resume(): void;
  /** Stops forwarding data on all open connections permanently. New connections work normally. */
  freezeConnections(): void;
  /** Waits for the next message to PostgreSQL that contains `text`. Drops its response and breaks the connection. */
  loseAnswerTo(text: string): Promise<void>;
  /** Breaks all connections and rejects new ones until `restore`. */
  sever(): void;
  restore(): void;
  close(): Promise<void>;
}

export async function startProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const sockets = new Set<Socket>();
  const frozen = new Set<Socket>();
  let isSilent = false;
  let isSevered = false;
  let losing: { text: string; done(): void } | undefined;

  const server = createServer(client => {
    if (isSevered) return client.destroy();
    const upstream = createConnection(addressOf(databaseUrl));
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
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
        other.write(data);
      });
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    // The 'data' listeners make the sockets flow. During a silence, pause the sockets of new connections again.
    if (isSilent) for (const socket of [client, upstream]) socket.pause();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const url = new URL(databaseUrl);
  const { port } = server.address() as { port: number };
  return {
    url: `postgresql://${url.username}:${url.password}@127.0.0.1:${port}${url.pathname}?sslmode=disable`,
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

/** Returns the Unix socket or the host and port of PostgreSQL. The PostgreSQL of the tests listens on a Unix socket. */
function addressOf(databaseUrl: string) {
  const { host, port } = new pg.Client({ connectionString: databaseUrl });
  return host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port };
}
