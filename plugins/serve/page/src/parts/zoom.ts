/** A window on a range that the reader zooms and moves: by wheel, pinch, drag, keys and buttons. */
import { useEffect, useRef, useState } from 'preact/hooks'

export interface Range {
  from: number
  to: number
}

export interface Zoom {
  range: Range
  /** Above 1 zooms in. `at`: the place that stays, from 0 to 1. */
  zoomBy: (factor: number, at?: number) => void
  /** In parts of the window. */
  moveBy: (part: number) => void
  show: (range: Range) => void
}

const NARROWEST_MS = 20

/** `all`: the whole range, which may grow. A window that shows its end follows it. */
export function useZoom(all: Range, start: Range): Zoom {
  const [range, setRange] = useState(start)
  const end = useRef(all.to)
  useEffect(() => {
    const before = end.current
    end.current = all.to
    setRange((range) =>
      range.to >= before && all.to > before ? { from: range.from, to: all.to + (range.to - before) } : range,
    )
  }, [all.to])
  const show = ({ from, to }: Range): void => {
    const width = Math.min(Math.max(to - from, NARROWEST_MS), (all.to - all.from) * 1.2)
    const margin = width / 10
    const first = Math.min(Math.max(from, all.from - margin), all.to + margin - width)
    setRange({ from: first, to: first + width })
  }
  const zoomBy = (factor: number, at = 0.5): void => {
    const width = range.to - range.from
    const from = range.from + width * at * (1 - 1 / factor)
    show({ from, to: from + width / factor })
  }
  const moveBy = (part: number): void => {
    const step = (range.to - range.from) * part
    show({ from: range.from + step, to: range.to + step })
  }
  return { range, zoomBy, moveBy, show }
}

/** Gestures on an element. */
export function useGestures(zoom: Zoom) {
  const element = useRef<HTMLDivElement>(null)
  const latest = useRef(zoom)
  latest.current = zoom
  useEffect(() => {
    const box = element.current
    if (box === null) return
    const fingers = new Map<number, number>()
    const placeOf = (x: number): number => {
      const { left, width } = box.getBoundingClientRect()
      return (x - left) / width
    }
    const onWheel = (event: WheelEvent): void => {
      // A page with a timeline must still scroll: only a gesture that means the picture zooms it.
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY))
        latest.current.moveBy(event.deltaX / box.clientWidth)
      else latest.current.zoomBy(Math.exp(-event.deltaY / 300), placeOf(event.clientX))
      event.preventDefault()
    }
    const onDown = (event: PointerEvent): void => {
      fingers.set(event.pointerId, event.clientX)
      box.setPointerCapture(event.pointerId)
    }
    const onMove = (event: PointerEvent): void => {
      const before = fingers.get(event.pointerId)
      if (before === undefined) return
      fingers.set(event.pointerId, event.clientX)
      const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1]
      if (other === undefined) latest.current.moveBy((before - event.clientX) / box.clientWidth)
      else {
        const factor = Math.abs(event.clientX - other) / Math.max(1, Math.abs(before - other))
        if (factor > 0) latest.current.zoomBy(factor, placeOf((event.clientX + other) / 2))
      }
    }
    const onUp = (event: PointerEvent): void => void fingers.delete(event.pointerId)
    box.addEventListener('wheel', onWheel, { passive: false })
    box.addEventListener('pointerdown', onDown)
    box.addEventListener('pointermove', onMove)
    box.addEventListener('pointerup', onUp)
    box.addEventListener('pointercancel', onUp)
    return () => {
      box.removeEventListener('wheel', onWheel)
      box.removeEventListener('pointerdown', onDown)
      box.removeEventListener('pointermove', onMove)
      box.removeEventListener('pointerup', onUp)
      box.removeEventListener('pointercancel', onUp)
    }
  }, [])
  const onKeyDown = (event: KeyboardEvent, all: Range): void => {
    if (event.key === '+' || event.key === '=') zoom.zoomBy(1.5)
    else if (event.key === '-') zoom.zoomBy(1 / 1.5)
    else if (event.key === 'ArrowLeft') zoom.moveBy(-0.2)
    else if (event.key === 'ArrowRight') zoom.moveBy(0.2)
    else if (event.key === '0') zoom.show(all)
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return { element, onKeyDown }
}
