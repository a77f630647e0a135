/** The width of a picture on the screen: the letters of a picture that is scaled would be too small on a phone. */
import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

/** `initial`: before the picture is drawn. */
export function useWidth(initial: number): { svg: RefObject<SVGSVGElement | null>; width: number } {
  const svg = useRef<SVGSVGElement>(null)
  const [width, setWidth] = useState(initial)
  useEffect(() => {
    const look = (): void => setWidth(svg.current?.clientWidth ?? initial)
    look()
    const watcher = new ResizeObserver(look)
    if (svg.current !== null) watcher.observe(svg.current)
    return () => watcher.disconnect()
  }, [initial])
  return { svg, width }
}
