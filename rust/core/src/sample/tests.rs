use proptest::prelude::*;

use super::{Pick, Temperature, pick, probabilities};
use fastrand::Rng;

fn tau(value: f64) -> Temperature {
    Temperature::try_from(value).unwrap()
}

fn chances(costs: &[f64], temperature: f64) -> Vec<f64> {
    let mut chances = Vec::new();
    probabilities(costs.iter().copied(), tau(temperature), &mut chances);
    chances
}

fn choose(costs: &[f64], temperature: f64, rng: &mut Rng) -> Option<Pick> {
    pick(
        costs.iter().copied(),
        tau(temperature),
        rng,
        &mut Vec::new(),
    )
}

/// Pearson's statistic of `draws` picks against the exact probabilities, and its degrees of freedom.
fn chi_square(costs: &[f64], temperature: f64, draws: u32, seed: u64) -> (f64, usize) {
    let mut rng = Rng::with_seed(seed);
    let mut counts = vec![0_u32; costs.len()];
    for _ in 0..draws {
        counts[choose(costs, temperature, &mut rng).unwrap().row] += 1;
    }
    let expected: Vec<f64> = chances(costs, temperature)
        .iter()
        .map(|p| p * f64::from(draws))
        .collect();
    let statistic = counts
        .iter()
        .zip(&expected)
        .filter(|(_, expected)| **expected > 0.0)
        .map(|(count, expected)| (f64::from(*count) - expected).powi(2) / expected)
        .sum();
    (
        statistic,
        expected.iter().filter(|expected| **expected > 0.0).count() - 1,
    )
}

#[test]
fn there_is_nothing_to_pick_from_no_workers() {
    assert_eq!(choose(&[], 0.0, &mut Rng::with_seed(1)), None);
    assert_eq!(choose(&[], 1.0, &mut Rng::with_seed(1)), None);
    assert!(chances(&[], 1.0).is_empty());
}

#[test]
fn two_workers_split_as_the_temperature_alone_says() {
    for temperature in [0.1_f64, 0.3, 0.7, 1.0, 10.0] {
        let expected = 1.0 / (1.0 + (-1.0 / temperature).exp());
        for costs in [[3.0, 8.0], [1e-300, 2e300], [-1e308, 1e308], [0.0, 5e-324]] {
            let chances = chances(&costs, temperature);
            assert!(
                (chances[0] - expected).abs() < 1e-15,
                "{costs:?} at {temperature}: {chances:?}"
            );
        }
    }
}

#[test]
fn at_temperature_zero_only_the_cheapest_workers_are_picked_each_equally_often() {
    let costs = [2.0, 1.0, 3.0, 1.0, 1.0];
    let third = 1.0 / 3.0;
    assert_eq!(chances(&costs, 0.0), [0.0, third, 0.0, third, third]);
    let (statistic, freedom) = chi_square(&costs, 0.0, 100_000, 7);
    assert_eq!(freedom, 2);
    assert!(
        statistic < 13.8,
        "chi-square {statistic} is beyond the 99.9 % quantile"
    );
}

#[test]
fn draws_follow_the_softmax() {
    let costs = [4.0, 9.5, 6.0, 4.5, 20.0, 11.0];
    for (seed, temperature) in [0.1, 0.3, 0.7, 1.0, 10.0].into_iter().enumerate() {
        let (statistic, freedom) = chi_square(&costs, temperature, 100_000, seed as u64);
        assert_eq!(freedom, 5);
        assert!(
            statistic < 20.5,
            "chi-square {statistic} at τ = {temperature} is beyond the 99.9 % quantile"
        );
    }
}

#[test]
fn the_smallest_temperature_takes_the_minimum_and_the_largest_all_alike() {
    assert_eq!(chances(&[5.0, 4.0, 6.0], 5e-324), [0.0, 1.0, 0.0]);
    assert_eq!(chances(&[5.0, 4.0, 6.0], f64::MAX), [1.0 / 3.0; 3]);
}

#[test]
fn a_cost_that_is_not_a_number_still_leaves_a_row() {
    for temperature in [0.0, 0.7] {
        let picked = choose(
            &[f64::NAN, 1.0, f64::INFINITY],
            temperature,
            &mut Rng::with_seed(3),
        );
        assert!(picked.unwrap().row < 3);
    }
}

#[test]
fn the_same_seed_gives_the_same_picks() {
    let costs = [1.0, 2.0, 1.5];
    let draw = |seed| {
        let mut rng = Rng::with_seed(seed);
        (0..64)
            .map(|_| choose(&costs, 0.7, &mut rng).unwrap().row)
            .collect::<Vec<_>>()
    };
    assert_eq!(draw(11), draw(11));
    assert_ne!(draw(11), draw(12));
}

fn any_costs() -> impl Strategy<Value = Vec<f64>> {
    let finite = prop_oneof![
        0.0..1e6,
        -1e308..1e308,
        Just(0.0),
        Just(f64::MAX),
        Just(f64::MIN),
        Just(5e-324)
    ];
    prop::collection::vec(finite, 1..64)
}

proptest! {
    #[test]
    fn probabilities_are_finite_and_add_up_to_one(costs in any_costs(), temperature in prop_oneof![Just(0.0), 1e-9..1e3, Just(5e-324), Just(f64::MAX)]) {
        let chances = chances(&costs, temperature);
        prop_assert!(chances.iter().all(|p| (0.0..=1.0).contains(p)), "{:?}", chances);
        prop_assert!((chances.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_cheaper_worker_is_never_less_likely(costs in any_costs(), temperature in 1e-3..1e3) {
        let chances = chances(&costs, temperature);
        for (i, a) in costs.iter().enumerate() {
            for (j, b) in costs.iter().enumerate() {
                prop_assert!(a > b || chances[i] >= chances[j]);
            }
        }
    }

    #[test]
    fn the_probabilities_are_those_of_the_published_formula(costs in prop::collection::vec(0.0..1e4, 1..64), temperature in prop::sample::select(vec![0.1, 0.3, 0.7, 1.0, 10.0])) {
        let min = costs.iter().copied().fold(f64::INFINITY, f64::min);
        let max = costs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = costs.iter().map(|c| if max == min { 1.0 } else { (-(c - min) / ((max - min) * temperature)).exp() }).collect();
        let total: f64 = weights.iter().sum();
        for (ours, weight) in chances(&costs, temperature).iter().zip(weights) {
            prop_assert!((ours - weight / total).abs() <= 1e-12);
        }
    }

    #[test]
    fn a_pick_is_possible_and_reports_the_true_range(costs in any_costs(), temperature in prop_oneof![Just(0.0), 1e-3..1e3], seed: u64) {
        let picked = choose(&costs, temperature, &mut Rng::with_seed(seed)).unwrap();
        prop_assert!(chances(&costs, temperature)[picked.row] > 0.0);
        prop_assert_eq!(picked.min_cost, costs.iter().copied().fold(f64::INFINITY, f64::min));
        prop_assert_eq!(picked.max_cost, costs.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    }
}
