import { mcpUrlOf } from '../../http/public-addresses.ts';

/*
 * Links, commands and file contents that connect an MCP client to this server. Their formats come from the
 * documentation of each client. A link never contains a token, because browsers and chats store links. Only texts to
 * copy contain a token.
 */

/** A server's entry in the configuration of an MCP client. */
interface McpServer {
  name: string;
  url: string;
}

/**
 * Returns this server's entry for the configuration of an MCP client. If `isReadOnly` is true, the URL in the entry
 * offers only tools that read.
 */
export function mcpServerOf(config: Parameters<typeof mcpUrlOf>[0], isReadOnly: boolean): McpServer {
  const url = mcpUrlOf(config);
  return isReadOnly ? { name: 'idea-board-read-only', url: `${url}?readonly=true` } : { name: 'idea-board', url };
}

/** Returns links and commands that connect an MCP client by OAuth. The links and commands contain no secret. */
export function waysByOauth({ name, url }: McpServer) {
  const vsCode = vsCodeLink({ name, type: 'http', url });
  return {
    url,
    // The apps of Claude connect from the network of Anthropic, which reaches only public servers. So only an https URL
    // gets this link.
    claude: url.startsWith('https:')
      ? `https://claude.ai/customize/connectors?${new URLSearchParams({
          modal: 'add-custom-connector',
          connectorName: name,
          connectorUrl: url,
        })}`
      : undefined,
    claudeCode: `claude mcp add --transport http ${name} "${url}"`,
    cursor: cursorLink({ name, url }),
    vsCode,
    vsCodeByWeb: `https://insiders.vscode.dev/redirect?url=${encodeURIComponent(vsCode)}`,
    codex: `codex mcp add ${name} --url "${url}"`,
    codexFile: `[mcp_servers.${name}]\nurl = "${url}"`,
  };
}

const tokenVariable = 'IDEA_BOARD_TOKEN';

/**
 * Returns texts with a token, for copying into MCP clients. Also returns a link that opens VS Code. The link contains
 * no token: VS Code asks the user for the token.
 */
export function waysByToken({ name, url }: McpServer, token: string) {
  const header = `Authorization: Bearer ${token}`;
  const cursorFile = { mcpServers: { [name]: { url, headers: { Authorization: `Bearer ${token}` } } } };
  return {
    claudeCode: `claude mcp add --transport http ${name} "${url}" --header "${header}"`,
    cursorFile: JSON.stringify(cursorFile, null, 2),
    vsCode: vsCodeLink({
      name,
      type: 'http',
      url,
      inputs: [{ type: 'promptString', id: 'idea-board-token', description: 'Idea-Board token', password: true }],
      // biome-ignore lint/suspicious/noTemplateCurlyInString: VS Code replaces this by the answer to its question.
      headers: { Authorization: 'Bearer ${input:idea-board-token}' },
    }),
    codex: `export ${tokenVariable}=${token}\ncodex mcp add ${name} --url "${url}" --bearer-token-env-var ${tokenVariable}`,
  };
}

function cursorLink({ name, url }: McpServer): string {
  const config = Buffer.from(JSON.stringify({ url })).toString('base64');
  return `cursor://anysphere.cursor-deeplink/mcp/install?${new URLSearchParams({ name, config })}`;
}

function vsCodeLink(server: object): string {
  return `vscode:mcp/install?${encodeURIComponent(JSON.stringify(server))}`;
}
