import { Call, type CallResult } from './call.ts';

/** The envelope of every list. */
export interface PageOf<Item> {
  data: Item[];
  next_cursor: string | null;
}

/** The part of a list's query that says where in the list; whatever else the query has goes along. */
interface Place {
  page?: number | undefined;
  per_page?: number | undefined;
  cursor?: string | undefined;
}

/** The largest page that the server gives: who reads all entries wants few requests. */
const largestPage = 100;

/**
 * A list that is not asked for yet. Await it for one page; go through it with `for await` for all entries, which asks
 * for page after page as far as you go.
 */
export class List<Item, Page extends PageOf<Item>> implements Promise<Page>, AsyncIterable<Item> {
  readonly [Symbol.toStringTag] = 'List';
  readonly #fetch: (place: Place) => Call<Page>;
  readonly #start: Place;
  #page: Call<Page> | undefined;

  /** @internal */
  constructor(fetch: (place: Place) => Call<Page>, start: Place) {
    this.#fetch = fetch;
    this.#start = start;
  }

  /** The entries of this page and of all that follow, in pages of 100 unless `per_page` says otherwise. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const { data } of this.#pagesFrom({ ...this.#start, per_page: this.#start.per_page ?? largestPage })) {
      yield* data;
    }
  }

  /** This page and all that follow. */
  pages(): AsyncGenerator<Page, void, undefined> {
    return this.#pagesFrom(this.#start);
  }

  async *#pagesFrom(start: Place): AsyncGenerator<Page, void, undefined> {
    for (let place: Place | undefined = start; place; ) {
      const page: Page = await this.#fetch(place);
      yield page;
      // A cursor and the number of a page are two ways to say where.
      const { page: _, ...rest }: Place = place;
      place = page.next_cursor ? { ...rest, cursor: page.next_cursor } : undefined;
    }
  }

  /** The page with the status, the headers, the request id and the state of the rate limit. */
  withResponse(): Promise<CallResult<Page>> {
    this.#page ??= this.#fetch(this.#start);
    return this.#page.withResponse();
  }

  // biome-ignore lint/suspicious/noThenProperty: it is a promise of a page, which is asked for when it is awaited.
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
