/**
 * A list from whose middle anything can be taken at once: who waits in it may leave at any time.
 *
 * Does not check that a node is in it: whoever has put one in takes it out once.
 */
export interface Node<T> {
  readonly value: T;
  /** The list's own, as is `next`: read only. */
  previous: Node<T> | undefined;
  next: Node<T> | undefined;
}

export class LinkedList<T> {
  #first: Node<T> | undefined;
  #last: Node<T> | undefined;
  #size = 0;

  get first(): Node<T> | undefined {
    return this.#first;
  }

  get last(): Node<T> | undefined {
    return this.#last;
  }

  get size(): number {
    return this.#size;
  }

  /** @param next the node before which it goes; at the end without one */
  insert(value: T, next?: Node<T>): Node<T> {
    const node: Node<T> = { value, previous: next === undefined ? this.#last : next.previous, next };
    this.#join(node.previous, node);
    this.#join(node, next);
    this.#size += 1;
    return node;
  }

  remove(node: Node<T>): void {
    this.#join(node.previous, node.next);
    this.#size -= 1;
  }

  #join(previous: Node<T> | undefined, next: Node<T> | undefined): void {
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
  }
}
