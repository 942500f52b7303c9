import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { TestServer } from './server.ts';

/** A TCP connection to a server, for requests that HTTP clients cannot send. */
export interface RawConnection {
  socket: Socket;
  /** Sends text. Resolves when the operating system has accepted the text. */
  send(text: string): Promise<void>;
  /** Resolves with all received text when the server closes the connection. */
  closed: Promise<string>;
}

export async function openConnection({ baseUrl }: Pick<TestServer, 'baseUrl'>): Promise<RawConnection> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  let received = '';
  socket.setEncoding('utf8');
  socket.on('data', text => {
    received += text;
  });
  socket.on('error', () => {});
  const closed = new Promise<string>(resolve => socket.once('close', () => resolve(received)));
  await once(socket, 'connect');
  return {
    socket,
    send: text => new Promise((resolve, reject) => socket.write(text, error => (error ? reject(error) : resolve()))),
    closed,
  };
}

/** Sends text on a new connection. Returns the response after the server has closed the connection. */
export async function exchangeRaw(server: Pick<TestServer, 'baseUrl'>, text: string): Promise<RawAnswer> {
  const connection = await openConnection(server);
  await connection.send(text);
  return readRaw(await connection.closed);
}

export interface RawAnswer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests access arbitrary fields of the body.
  body: any;
}

export function readRaw(text: string): RawAnswer {
  const [head = '', body = ''] = text.split('\r\n\r\n', 2);
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = new Headers(lines.map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
  return { status: Number(statusLine.split(' ')[1]), headers, body: body === '' ? undefined : JSON.parse(body) };
}
