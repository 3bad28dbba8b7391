/**
 * Sequences packed so that tokens with the same history are one row, computed once: a row is a token, its parent the token
 * before it. The sequences of a group share their prompt, those of a batch their system message.
 */
export class Forest {
  #tokens: Int32Array = new Int32Array(256);
  /** −1 for a first token. */
  #parents: Int32Array = new Int32Array(256);
  /** Tokens before this one. */
  #depths: Int32Array = new Int32Array(256);
  readonly #children = new Map<number, Map<number, number>>();
  #rows = 0;

  get rows(): number {
    return this.#rows;
  }

  get tokens(): Int32Array {
    return this.#tokens;
  }

  get parents(): Int32Array {
    return this.#parents;
  }

  get depths(): Int32Array {
    return this.#depths;
  }

  /** Adds a row even when its parent has the same child already: where each child will be sampled on its own. */
  append(parent: number, token: number): number {
    const row = this.#rows++;
    if (row >= this.#tokens.length) this.#grow();
    this.#tokens[row] = token;
    this.#parents[row] = parent;
    this.#depths[row] = parent < 0 ? 0 : (this.#depths[parent] ?? 0) + 1;
    return row;
  }

  /** The row of this token after that parent, new or known. */
  child(parent: number, token: number): number {
    const children = this.#children.get(parent) ?? new Map<number, number>();
    this.#children.set(parent, children);
    const known = children.get(token);
    if (known !== undefined) return known;
    const row = this.append(parent, token);
    children.set(token, row);
    return row;
  }

  /** The rows of a sequence, one a token. */
  add(sequence: readonly number[]): number[] {
    let parent = -1;
    return sequence.map((token) => {
      parent = this.child(parent, token);
      return parent;
    });
  }

  #grow(): void {
    this.#tokens = doubled(this.#tokens);
    this.#parents = doubled(this.#parents);
    this.#depths = doubled(this.#depths);
  }
}

function doubled(array: Int32Array): Int32Array {
  const larger = new Int32Array(2 * array.length);
  larger.set(array);
  return larger;
}
