/** The random trees of `npm run stress:fuzz -- --agents N`. */
import { expect, test } from 'vitest'
import { PLACES, placesOf } from '../../stress/fuzz/places.js'

const SEEDS = Array.from({ length: 50 }, (_, seed) => seed)

test('a tree has the requested number of places, each once and after its parent', () => {
  for (const seed of SEEDS) {
    const places = placesOf(40, seed)
    expect(new Set(places).size).toBe(40)
    for (const [index, place] of places.entries()) {
      const parent = place.split('/').slice(0, -1).join('/')
      if (parent !== '') expect(places.slice(0, index)).toContain(parent)
    }
  }
})

test('an agent that others wait for has no children, so no two agents wait for each other', () => {
  for (const seed of SEEDS) for (const place of placesOf(40, seed)) expect(place).not.toMatch(/\/[yp]\//)
})

test('a seed always makes the same tree, another seed makes another one', () => {
  expect(placesOf(40, 7)).toEqual(placesOf(40, 7))
  expect(placesOf(40, 7)).not.toEqual(placesOf(40, 8))
})

test('without a number the tree is the fixed one', () => {
  expect(placesOf(undefined, 7)).toBe(PLACES)
})
