/** Keeps the focus in the page when the element that has it goes away. The browser would give it to the body. */
import type { RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

/** For a part with buttons or fields. If it has the focus when it is removed, its card gets it, or the next card, or the heading. */
export function useFocusHandover<Part extends HTMLElement>(): RefObject<Part | null> {
  const ref = useRef<Part>(null)
  useLayoutEffect(() => {
    const part = ref.current
    return () => {
      if (part === null || !part.contains(document.activeElement)) return
      const heirs = heirsOf(part)
      // After the drawing. A new part may have taken the focus by then.
      setTimeout(() => {
        if (document.activeElement === null || document.activeElement === document.body) focusFirst(heirs)
      })
    }
  }, [])
  return ref
}

/** After a link to another view: the reader, and a screen reader, continue at its heading. A field that has the focus keeps it. */
export function focusView(): void {
  if (document.activeElement?.matches('main :is(input, textarea)') === true) return
  focusHeading(document.querySelector<HTMLElement>('main h1') ?? document.getElementById('main'))
}

/** A view that is drawn later than the address changed: the focus waits for its heading in <main>. */
export function useHeadingFocus(): RefObject<HTMLHeadingElement | null> {
  const ref = useRef<HTMLHeadingElement>(null)
  useLayoutEffect(() => {
    if (document.activeElement?.id === 'main') focusHeading(ref.current)
  }, [])
  return ref
}

function focusHeading(heading: HTMLElement | null): void {
  heading?.setAttribute('tabindex', '-1')
  heading?.focus({ preventScroll: true })
}

function heirsOf(part: HTMLElement): HTMLElement[] {
  const cards = [...document.querySelectorAll<HTMLElement>('[data-card]')]
  const at = cards.findIndex((card) => card.contains(part))
  return at < 0 ? [] : [...cards.slice(at), ...cards.slice(0, at).reverse()]
}

function focusFirst(heirs: readonly HTMLElement[]): void {
  const heir = heirs.find((each) => each.isConnected) ?? document.querySelector<HTMLElement>('main h1')
  if (heir?.tabIndex === -1) heir.setAttribute('tabindex', '-1')
  heir?.focus()
}
