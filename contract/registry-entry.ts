import { info } from './openapi/info.ts';
import { useTools } from './tools.ts';

/**
 * The entry for the official MCP registry (server.json, https://modelcontextprotocol.io/registry). Everybody hosts
 * their own server, so the entry has a URL template. The registry accepts only URLs with https. The registry also
 * compares the namespace in the entry's name with the GitHub account or the domain of the publisher.
 */
export const registryEntry = {
  $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
  name: 'io.github.idea-board/idea-board',
  title: 'Idea-Board',
  description: 'Ideas, votes, comments, tags and statuses on the feedback boards of your own server.',
  version: info.version,
  remotes: [
    {
      type: 'streamable-http',
      url: `https://{host}${useTools.path}`,
      variables: {
        host: {
          description: 'The host name of your Idea-Board server, with the port if it is not 443.',
          isRequired: true,
          placeholder: 'ideas.example.com',
        },
      },
      headers: [
        {
          name: 'Authorization',
          description:
            'Bearer and a space, then an API token from /admin/tokens. Leave it empty to sign in by OAuth in the browser.',
          isRequired: false,
          isSecret: true,
          placeholder: 'Bearer ib_…',
        },
      ],
    },
  ],
};
