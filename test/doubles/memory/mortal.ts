import type { Clock } from "../../../common/clock.ts";
import type { ApiResponse, ApiServer } from "../../../common/kubernetes/api-server.ts";
import { Recovery } from "../../../common/kubernetes/recovery.ts";

/** A process that may be killed: from then on nothing falls due in it, nothing reaches it, and it sends nothing. */
export class Mortal {
  #dead = false;

  get isDead(): boolean {
    return this.#dead;
  }

  kill(): void {
    this.#dead = true;
  }

  /** The clock as this process has it. */
  clock(clock: Clock): Clock {
    return {
      now: () => clock.now(),
      after: (ms, run) =>
        clock.after(ms, () => {
          if (!this.#dead) run();
        }),
    };
  }

  /** An API server as this process has it. What was sent before it died has been sent. */
  api(server: ApiServer): ApiServer {
    return {
      address: server.address,
      recovery: new Recovery(),
      request: async (request) => {
        if (this.#dead) return never();
        const response = await server.request(request).catch((thrown: unknown) => {
          if (this.#dead) return never();
          throw thrown;
        });
        return this.#dead ? never() : { ...response, body: this.#received(response) };
      },
      close: () => server.close(),
    };
  }

  async *#received({ body }: ApiResponse): AsyncIterable<Uint8Array> {
    try {
      for await (const part of body) {
        if (this.#dead) await never();
        yield part;
      }
    } catch (thrown) {
      if (this.#dead) await never();
      throw thrown;
    }
    if (this.#dead) await never();
  }
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
