/** Stores the OAuth data of the MCP SDK's client. Both versions of the SDK accept this class as an OAuth provider. */
export class Remembering {
  readonly redirectUrl: string;
  /** The authorization URL that the SDK asks the client to open for the person. */
  sentTo: URL | undefined;
  #client: never | undefined;
  #tokens: { access_token: string; refresh_token?: string } | undefined;
  #discovery: never | undefined;
  #verifier = '';

  constructor(redirectUrl: string) {
    this.redirectUrl = redirectUrl;
  }

  get clientMetadata() {
    return {
      client_name: 'The official client',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
  }

  state = () => 'a state';
  clientInformation = () => this.#client;
  saveClientInformation(client: object) {
    this.#client = client as never;
  }
  tokens = () => this.#tokens as never;
  saveTokens(tokens: object) {
    this.#tokens = tokens as never;
  }
  /** The SDK calls this method when the client must delete its stored credentials. */
  invalidateCredentials() {
    this.#tokens = undefined;
  }
  get held() {
    return this.#tokens;
  }
  saveDiscoveryState(state: object) {
    this.#discovery = state as never;
  }
  discoveryState = () => this.#discovery;
  redirectToAuthorization(url: URL) {
    this.sentTo = url;
  }
  codeVerifier = () => this.#verifier;
  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier;
  }
}
