import { once } from 'node:events';
import { createConnection, createServer, type Socket } from 'node:net';
import pg from 'pg';

/** A way to a PostgreSQL that can go silent, as a network does that loses packets, or break. */
export interface DatabaseProxy {
  /** The database's URL, by way of the proxy. */
  url: string;
  /** Forwards nothing more, in either direction, and keeps every connection open: also new ones. */
  silence(): void;
  /** Forwards again what comes, and what came meanwhile. */
  resume(): void;
  /** Leaves every connection that is open in silence for good; new ones work. */
  freezeConnections(): void;
  /**
   * Breaks the connection on which this is next sent, once PostgreSQL has answered it, and lets no answer through.
   * Resolves when it has done so.
   */
  loseAnswerTo(text: string): Promise<void>;
  /** Breaks every connection and refuses new ones, until restored. */
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
    // Listening for data started the flow; a connection that is opened in the silence goes without.
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

/** The tests' PostgreSQL listens on a socket in the file system. */
function addressOf(databaseUrl: string) {
  const { host, port } = new pg.Client({ connectionString: databaseUrl });
  return host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port };
}
