import { generateKeyPairSync, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';

export interface DocumentServer {
  /** The URL of the document: https://127.0.0.1:<port> */
  url: string;
  /**
   * Sets the response. The server sends an object as a JSON document with the HTTP status 200. The server sends a
   * number as an HTTP status without a document.
   */
  serve(answer: object | number): void;
  requestCount(): number;
  close(): Promise<void>;
}

/**
 * Starts a server that serves one document over HTTPS. Until this server closes, the test process trusts its
 * certificate.
 */
export async function serveDocument(): Promise<DocumentServer> {
  const certificate = makeCertificate();
  const trusted = getCACertificates('default');
  setDefaultCACertificates([...trusted, certificate.cert]);
  let answer: object | number = 404;
  let asked = 0;
  const server = createServer(certificate, (_request, response) => {
    asked += 1;
    if (typeof answer === 'number') response.writeHead(answer, { location: 'https://127.0.0.1:1/' }).end();
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    serve(next) {
      answer = next;
    },
    requestCount: () => asked,
    async close() {
      setDefaultCACertificates(trusted);
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Builds a self-signed certificate for 127.0.0.1 byte by byte, because Node cannot create certificates. */
export function makeCertificate(): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = sequence(oid('2a8648ce3d040302')); // The object identifier of ecdsa-with-SHA256.
  const name = sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from('a test')))));
  const validity = sequence(der(0x17, Buffer.from('250101000000Z')), der(0x17, Buffer.from('450101000000Z')));
  const constraints = sequence(oid('551d13'), der(0x04, sequence(der(0x01, Buffer.from([0xff])))));
  const names = sequence(oid('551d11'), der(0x04, sequence(der(0x87, Buffer.from([127, 0, 0, 1])))));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(constraints, names)),
  );
  const signature = sign('sha256', body, privateKey);
  const certificate = sequence(body, algorithm, der(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = certificate.toString('base64').replace(/(.{64})/g, '$1\n');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  };
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: Buffer[]) => der(0x30, Buffer.concat(parts));
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
