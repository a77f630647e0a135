/** A list of rows of one height that draws only those in sight. */
import type { ComponentChildren, HTMLAttributes } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

const SPARE = 8

export function VirtualList<Row>(props: {
  rows: readonly Row[]
  rowHeight: number
  draw: (row: Row, index: number) => ComponentChildren
  /** The row that must be in sight. */
  active: number
  box: Omit<HTMLAttributes<HTMLDivElement>, 'onScroll' | 'ref' | 'class'>
}) {
  const { rows, rowHeight, active } = props
  const element = useRef<HTMLDivElement>(null)
  const [{ top, height }, setPlace] = useState({ top: 0, height: 800 })
  const look = (): void => {
    const box = element.current
    if (box !== null) setPlace({ top: box.scrollTop, height: box.clientHeight })
  }
  useEffect(() => {
    look()
    const watcher = new ResizeObserver(look)
    if (element.current !== null) watcher.observe(element.current)
    return () => watcher.disconnect()
  }, [])
  useEffect(() => {
    const box = element.current
    if (box === null || active < 0) return
    const [from, to] = [active * rowHeight, (active + 1) * rowHeight]
    if (from < box.scrollTop) box.scrollTop = from
    else if (to > box.scrollTop + box.clientHeight) box.scrollTop = to - box.clientHeight
  }, [active, rowHeight])
  const first = Math.max(0, Math.floor(top / rowHeight) - SPARE)
  const last = Math.min(rows.length, Math.ceil((top + height) / rowHeight) + SPARE)
  return (
    <div {...props.box} class="virtual" ref={element} onScroll={look}>
      <div class="virtual-all" role="presentation" style={{ height: `${rows.length * rowHeight}px` }}>
        <div
          class="virtual-part"
          role="presentation"
          style={{ transform: `translateY(${first * rowHeight}px)` }}
        >
          {/* By place: scrolling then changes texts instead of making and removing elements. */}
          {rows.slice(first, last).map((row, index) => (
            <div key={index} class="virtual-row" role="presentation" style={{ height: `${rowHeight}px` }}>
              {props.draw(row, first + index)}
            </div>
          ))}
        </div>
      </div>
    </div>
  )
}
