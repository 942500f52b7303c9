import type { CallToolResult } from '@modelcontextprotocol/server';
import { isId, isObject, type Message, type ProtocolRequest } from './message.ts';

/**
 * Answers ordinary tool calls without the MCP SDK. For each message, the SDK builds a server, a transport and web
 * requests. Without the SDK, a call costs 1.0 to 1.3 times the CPU time of the equivalent REST request. With the SDK, a
 * call costs 1.9 to 2.5 times this CPU time. Calls of unusual form still go to the SDK.
 */

/**
 * Returns the kind of the MCP protocol version of a plain call: `modern` (2026) or `legacy` (before 2026). Returns
 * undefined for other messages.
 */
export function eraOfPlainCall({ message, headers }: ProtocolRequest): 'modern' | 'legacy' | undefined {
  const { jsonrpc, id, method, params } = message;
  if (jsonrpc !== '2.0' || method !== 'tools/call' || !isId(id) || !isObject(params)) return undefined;
  const { name, arguments: given, _meta: meta = {} } = params;
  if (!hasOnly(message, messageFields) || !hasOnly(params, callFields) || typeof name !== 'string') return undefined;
  if ((given !== undefined && !isObject(given)) || !isObject(meta)) return undefined;
  if (meta.progressToken !== undefined && !isId(meta.progressToken)) return undefined;
  const reserved = Object.entries(meta).filter(([key]) => key.startsWith(reservedPrefix));
  if (reserved.length === 0) return isLegacy(headers) ? 'legacy' : undefined;
  const fields = Object.fromEntries(reserved.map(([key, value]) => [key.slice(reservedPrefix.length), value]));
  return isModern(headers, name, fields) ? 'modern' : undefined;
}

/**
 * The MCP protocol versions before 2026. In these versions, clients first send `initialize`, and `_meta` has no
 * protocol data.
 */
export const legacyVersions: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'];

const messageFields = ['jsonrpc', 'id', 'method', 'params'];
const callFields = ['name', 'arguments', '_meta'];

function isLegacy(headers: ProtocolRequest['headers']): boolean {
  const version = headers['mcp-protocol-version'];
  const isKnown = version === undefined || legacyVersions.includes(String(version));
  return isKnown && headers['mcp-method'] === undefined && headers['mcp-name'] === undefined;
}

const modernVersion = '2026-07-28';
const reservedPrefix = 'io.modelcontextprotocol/';

function isModern(headers: ProtocolRequest['headers'], name: string, reserved: Message): boolean {
  return (
    hasOnly(reserved, ['protocolVersion', 'clientInfo', 'clientCapabilities']) &&
    reserved.protocolVersion === modernVersion &&
    headers['mcp-protocol-version'] === modernVersion &&
    headers['mcp-method'] === 'tools/call' &&
    headers['mcp-name'] === name &&
    isPlainClient(reserved.clientInfo) &&
    arePlainCapabilities(reserved.clientCapabilities)
  );
}

/**
 * Whether all fields of the client's description are strings. If not, for example if the description has icons, the SDK
 * handles the call.
 */
function isPlainClient(client: unknown): boolean {
  if (client === undefined) return true;
  if (!isObject(client) || client.name === undefined || client.version === undefined || client.icons !== undefined)
    return false;
  return Object.values(client).every(value => typeof value === 'string');
}

/** Whether the client's capabilities have the form that most clients send. The SDK validates other forms. */
function arePlainCapabilities(capabilities: unknown): boolean {
  if (!isObject(capabilities)) return false;
  return Object.entries(capabilities).every(([name, value]) => {
    if (!isObject(value)) return false;
    if (name === 'experimental' || name === 'extensions') return Object.values(value).every(isObject);
    if (name === 'roots') {
      return hasOnly(value, ['listChanged']) && ['undefined', 'boolean'].includes(typeof value.listChanged);
    }
    return Object.values(value).every(detail => isObject(detail) && hasOnly(detail, []));
  });
}

/**
 * Writes the answer to a plain call. The answer contains the JSON text of the result twice. To save time, the server
 * makes this text only once.
 */
export function writePlainResult(
  { structuredContent, ...result }: CallToolResult,
  id: unknown,
  era: 'modern' | 'legacy',
  serverInfo: object,
): string {
  const inEra =
    era === 'legacy'
      ? result
      : { ...result, resultType: 'complete', _meta: { ...result._meta, [`${reservedPrefix}serverInfo`]: serverInfo } };
  const [text] = result.content;
  // Uses the text of the result also as the JSON of the structured content, because both have the same content (see
  // resultOf).
  const structured = structuredContent && text?.type === 'text' ? `"structuredContent":${text.text},` : '';
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{${structured}${JSON.stringify(inEra).slice(1)}}`;
}

function hasOnly(value: Message, fields: readonly string[]): boolean {
  return Object.keys(value).every(key => fields.includes(key));
}
