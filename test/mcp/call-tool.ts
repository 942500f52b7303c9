import { request } from '../helpers/request.ts';
import type { TestServer } from '../helpers/server.ts';

/**
 * The forms of a tool call. "legacy" stands for the MCP protocol versions before 2026, and "modern" for the version of
 * 2026. Both exist in a plain and in an unusual form. The server itself answers the plain forms, and the SDK answers
 * the unusual forms.
 */
export const forms = ['modern', 'legacy', 'modern-unusual', 'legacy-unusual'] as const;
export type Form = (typeof forms)[number];

export interface Call {
  token?: string | undefined;
  name: string;
  args?: unknown;
  meta?: Record<string, unknown>;
  form?: Form;
  headers?: Record<string, string>;
}

/** The field `_meta` of every message in the MCP protocol version of 2026. */
export const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'a-test', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** Returns the headers of a message in the MCP protocol version of 2026. */
export function modernHeaders(method: string, name?: string): Record<string, string> {
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method };
  return name === undefined ? headers : { ...headers, 'mcp-name': name };
}

export function callTool(
  server: Pick<TestServer, 'baseUrl'>,
  { token, name, args = {}, meta = {}, form = 'modern', headers = {} }: Call,
) {
  const isModern = form.startsWith('modern');
  const unusual = isModern ? { 'io.modelcontextprotocol/logLevel': 'error' } : {};
  const isUnusual = form.endsWith('unusual');
  const _meta = { ...(isModern ? envelope : {}), ...(isUnusual ? unusual : {}), ...meta };
  return send(server, {
    token,
    message: { jsonrpc: '2.0', id: 'call-1', method: 'tools/call', params: { name, arguments: args, _meta } },
    headers: {
      ...(isModern ? modernHeaders('tools/call', name) : {}),
      ...(isUnusual && !isModern ? { 'mcp-method': 'tools/call' } : {}),
      ...headers,
    },
  });
}

export function send(
  server: Pick<TestServer, 'baseUrl'>,
  { token, message, headers }: { token?: string | undefined; message: unknown; headers?: Record<string, string> },
) {
  return request(server, 'POST /api/v1/mcp', { token, json: message, ...(headers ? { headers } : {}) });
}
