/** The random trees of `npm run stress:fuzz -- --agents N`. */
import { expect, test } from 'vitest'
import { PLACES, placesOf } from '../../stress/fuzz/places.js'

const SEEDS = Array.from({ length: 50 }, (_, seed) => seed)

test('a tree has as many places as it was asked for, each once, with its parent before it', () => {
  for (const seed of SEEDS) {
    const places = placesOf(40, seed)
    expect(new Set(places).size).toBe(40)
    for (const [index, place] of places.entries()) {
      const parent = place.split('/').slice(0, -1).join('/')
      if (parent !== '') expect(places.slice(0, index)).toContain(parent)
    }
  }
})

test('who is waited for has nobody below it, so that no two wait for one another', () => {
  for (const seed of SEEDS) for (const place of placesOf(40, seed)) expect(place).not.toMatch(/\/[yp]\//)
})

test('a seed has one tree, another seed another', () => {
  expect(placesOf(40, 7)).toEqual(placesOf(40, 7))
  expect(placesOf(40, 7)).not.toEqual(placesOf(40, 8))
})

test('without a number the tree is the usual one', () => {
  expect(placesOf(undefined, 7)).toBe(PLACES)
})
