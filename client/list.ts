import { Call, type CallResult } from './call.ts';
import { checkOptions } from './check-options.ts';

/** The fields of a response that has one page of a list. */
export interface PageOf<Item> {
  data: Item[];
  next_cursor: string | null;
}

/** The pagination fields of a query. The class `List` changes only these fields of the query. */
interface Position {
  page?: number | undefined;
  per_page?: number | undefined;
  cursor?: string | undefined;
}

/**
 * The maximum page size of the server. An iteration over a list uses this page size by default, so that it needs few
 * requests.
 */
const largestPage = 100;

/**
 * A list of entries. The list sends its first request when you await the list or iterate over it. Await the list for
 * one page. To get all entries, iterate over the list with `for await`: the list requests the pages one by one as
 * needed.
 */
export class List<Item, Page extends PageOf<Item>> implements Promise<Page>, AsyncIterable<Item> {
  readonly [Symbol.toStringTag] = 'List';
  readonly #fetch: (position: Position) => Call<Page>;
  readonly #start: Position;
  #page: Call<Page> | undefined;

  /** @internal */
  constructor(fetch: (position: Position) => Call<Page>, start: Position) {
    this.#fetch = fetch;
    this.#start = start;
  }

  /** Iterates over the entries of this page and of all later pages. The default page size is 100. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const { data } of this.#pagesFrom({ ...this.#start, per_page: this.#start.per_page ?? largestPage })) {
      yield* data;
    }
  }

  /** Resolves to an array of the first entries, at most `limit`. With the limit `Infinity`, resolves to all entries. */
  async toArray(options: { limit: number }): Promise<Item[]> {
    checkOptions(options, ['limit']);
    const { limit } = options;
    if (limit === undefined) throw new TypeError('The option "limit" is missing. For all entries, pass Infinity.');
    const items: Item[] = [];
    const perPage = this.#start.per_page ?? Math.min(limit, largestPage);
    for await (const { data } of this.#pagesFrom({ ...this.#start, per_page: perPage })) {
      items.push(...data.slice(0, limit - items.length));
      if (items.length >= limit) break;
    }
    return items;
  }

  /** Iterates over this page and all later pages. */
  pages(): AsyncGenerator<Page, void, undefined> {
    return this.#pagesFrom(this.#start);
  }

  async *#pagesFrom(start: Position): AsyncGenerator<Page, void, undefined> {
    for (let position: Position | undefined = start; position; ) {
      const page: Page = await this.#fetch(position);
      yield page;
      // Leaves out the page number, because a request must not have both a cursor and a page number.
      const { page: _, ...rest }: Position = position;
      position = page.next_cursor ? { ...rest, cursor: page.next_cursor } : undefined;
    }
  }

  /** Resolves to the page with the status, the headers, the request id and the state of the rate limit. */
  withResponse(): Promise<CallResult<Page>> {
    this.#page ??= this.#fetch(this.#start);
    return this.#page.withResponse();
  }

  // biome-ignore lint/suspicious/noThenProperty: a List is a promise of a page that sends its request when it is awaited.
  then<A = Page, B = never>(
    onFulfilled?: ((page: Page) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return new Call(this.withResponse()).then(onFulfilled, onRejected);
  }

  catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<Page | B> {
    return this.then(undefined, onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<Page> {
    return this.then().finally(onFinally);
  }
}
