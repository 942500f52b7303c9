/** Types for the parts of oidc-provider that this server uses. The package has no types. */
declare module 'oidc-provider' {
  import type { EventEmitter } from 'node:events';
  import type { IncomingMessage, ServerResponse } from 'node:http';

  /** The Koa context of a request, with oidc-provider's own data about the request. */
  export interface Context {
    req: IncomingMessage;
    res: ServerResponse;
    path: string;
    query: Record<string, string | string[] | undefined>;
    status: number;
    body: unknown;
    /** If false, Koa does not send the answer, and other code can send it. */
    respond?: boolean;
    oidc: {
      route: string;
      params?: Record<string, unknown>;
      /** The answer from the consent page. Undefined until the authorization request is resumed. */
      result?: { login?: object; consent?: { grantId: string } };
    };
  }

  export interface ClientMetadata {
    [name: string]: unknown;
    client_id?: string;
    client_name?: string;
    redirect_uris?: string[];
  }

  export interface Client {
    clientId: string;
    clientName?: string;
    clientSecret?: string;
    redirectUris: string[];
    grantTypeAllowed(type: string): boolean;
    compareClientSecret(given: string): boolean;
  }

  export interface Token {
    kind: string;
    clientId: string;
    generateTokenId(): string;
  }

  export interface Grant {
    jti: string;
    generateTokenId(): string;
    addOIDCScope(scope: string): void;
    addResourceScope(resource: string, scope: string): void;
    getValueAndPayload(): Promise<{ payload: Record<string, unknown> }>;
  }

  export interface Interaction {
    uid: string;
    params: Record<string, unknown>;
    returnTo: string;
    result?: object;
  }

  export interface Adapter {
    upsert(id: string, payload: Record<string, unknown>, expiresInSeconds?: number): Promise<void>;
    find(id: string): Promise<Record<string, unknown> | undefined>;
    findByUid(uid: string): Promise<undefined>;
    findByUserCode(code: string): Promise<undefined>;
    consume(id: string): Promise<void>;
    destroy(id: string): Promise<void>;
    revokeByGrantId(grantId: string): Promise<void>;
  }

  interface TokenModel {
    prototype: Token;
  }

  export class Provider extends EventEmitter {
    constructor(issuer: string, configuration: object);
    /** The context of the current request, for callbacks that do not get it as an argument. */
    static get ctx(): Context | undefined;
    proxy: boolean;
    silent: boolean;
    use(middleware: (context: Context, next: () => Promise<void>) => Promise<void>): this;
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<Interaction>;
    readonly AccessToken: TokenModel;
    readonly AuthorizationCode: TokenModel;
    readonly RefreshToken: TokenModel;
    readonly RegistrationAccessToken: TokenModel;
    readonly Client: { prototype: Client; find(id: string): Promise<Client | undefined> };
    readonly Grant: {
      new (input: { accountId: string; clientId: string }): Grant;
      find(id: string): Promise<Grant | undefined>;
    };
  }

  class OauthError extends Error {
    constructor(description?: string, detail?: string);
  }

  export const errors: Record<
    'InvalidClientMetadata' | 'InvalidGrant' | 'InvalidRequest' | 'InvalidTarget' | 'SessionNotFound',
    typeof OauthError
  >;

  export class InteractionCheck {
    constructor(reason: string, description: string, check: (context: Context) => boolean);
  }

  export const interactionPolicy: {
    Check: typeof InteractionCheck;
    Prompt: new (options: { name: string; requestable: boolean }, ...checks: InteractionCheck[]) => object;
  };
}
