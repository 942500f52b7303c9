import { once } from 'node:events';
import { createConnection, createServer, type Socket } from 'node:net';
import pg from 'pg';

/** A proxy in front of PostgreSQL that simulates packet loss and broken connections. */
export interface DatabaseProxy {
  /** The URL of the database through the proxy. */
  url: string;
  /** Stops forwarding in both directions but keeps all connections open. New connections open, too. */
  silence(): void;
  /** Forwards the pending and the new data. */
  resume(): void;
  /** Stops forwarding on all open connections for good. New connections work. */
  freezeConnections(): void;
  /**
   * Waits for the next message with this text, and for its response from PostgreSQL. Then drops the response, breaks the
   * connection and resolves.
   */
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
    // The data listeners started the flow. Pause it again for connections that open during the silence.
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

/** The PostgreSQL of the tests listens on a Unix socket. */
function addressOf(databaseUrl: string) {
  const { host, port } = new pg.Client({ connectionString: databaseUrl });
  return host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port };
}
