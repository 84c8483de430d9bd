import copy
import pickle

import torch

from attention.layer_cache import LayerCache
from tests.builders import small_model
from tests.implementations.contract import build as build_layer


def builder(built):
    def build():
        built.append(build_layer("looped"))
        return [built[-1]]

    return build


def get(cache, weights, built, key=("fused", 3)):
    return cache.get(key, weights, builder(built))


def test_layers_are_built_once_for_each_key():
    cache, weights, built = LayerCache(), [torch.ones(2)], []
    assert get(cache, weights, built) == get(cache, weights, built)
    get(cache, weights, built, key=("looped", 3))
    assert len(built) == 2


def test_layers_are_built_anew_when_a_weight_changes_in_place():
    # A fused matrix is a copy: it was kept, and the model went on with the old numbers.
    cache, weights, built = LayerCache(), [torch.ones(2), torch.ones(3)], []
    get(cache, weights, built)
    weights[1].zero_()
    assert get(cache, weights, built) == [built[1]]


def test_layers_are_built_anew_when_a_weight_is_another_tensor():
    cache, first, second, built = LayerCache(), torch.ones(2), torch.ones(2), []
    get(cache, [first], built)
    get(cache, [second], built)
    assert len(built) == 2


def test_weights_made_in_inference_mode_are_taken():
    with torch.inference_mode():
        weights = [torch.ones(2)]  # torch does not count the changes of these
    cache, built = LayerCache(), []
    assert get(cache, weights, built) == get(cache, weights, built)


def test_changing_the_list_does_not_change_what_is_kept():
    cache, weights, built = LayerCache(), [torch.ones(2)], []
    get(cache, weights, built).clear()
    assert get(cache, weights, built) == built


def test_cleared_layers_are_built_anew():
    cache, weights, built = LayerCache(), [torch.ones(2)], []
    get(cache, weights, built)
    cache.clear()
    get(cache, weights, built)
    assert len(built) == 2


def test_model_that_was_moved_or_copied_is_of_another_age():
    # The memory of weights that are gone is given to others: their addresses alone do not tell.
    model = small_model()
    ages = [model.run([1, 2]).origin.age, model.run([1, 2]).origin.age]
    assert ages[0] is ages[1]
    ages = [ages[0], copy.deepcopy(model).run([1, 2]).origin.age]
    ages.append(model.to(torch.float64).run([1, 2]).origin.age)
    model.load_state_dict(model.state_dict())
    ages.append(model.run([1, 2]).origin.age)
    assert len(set(map(id, ages))) == 4


def test_a_model_is_copied_and_pickled_without_what_it_has_built():
    # Caught: a lock can be neither copied nor pickled, and so no model could be.
    model = small_model()
    expected = model.run([1, 2, 3], implementation="fused").logits
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        torch.testing.assert_close(other.run([1, 2, 3], implementation="fused").logits, expected)
        with torch.no_grad():
            other.embed.weight.zero_()
    torch.testing.assert_close(model.run([1, 2, 3], implementation="fused").logits, expected)
